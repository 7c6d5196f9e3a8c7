// SPDX-License-Identifier: Apache-2.0
// The texts of `REVISION:PATH` in the current git repository. Symlinks are followed within the revision; one that leads
// out of it, and a submodule, are reported.

import { execFile } from "node:child_process"
import { posix } from "node:path"
import { promisify } from "node:util"
import { checkNameInBounds } from "../confinement.js"
import { CommandError } from "../exit.js"
import { utf8 } from "../read-text.js"
import { isManifestName, type SourceText } from "./sources.js"
import { COMPRESSED, isCompressed, isPage, kindInBytes, kindPattern, MOST, otherName } from "./unread-file.js"

const run = promisify(execFile)

interface Entry {
  readonly mode: string
  /** The id of its content. */
  readonly object: string
  /** In bytes; 0 for a submodule. */
  readonly size: number
  readonly name: string
}

/** The limit for all manifests together. */
const MAX_BYTES = 512 << 20
const LINK = "120000"
const SUBMODULE = "160000"

export class GitRevision {
  readonly #asked: string
  readonly #revision: string
  readonly #kinds: readonly string[]
  readonly #skip: (what: string) => void
  readonly #seen = new Set<string>()

  /** `asked` is `REVISION:PATH`. `kinds`: files with other names that contain these kinds are reported as skipped. */
  constructor(asked: string, kinds: readonly string[], skip: (what: string) => void) {
    const revision = asked.slice(0, asked.indexOf(":"))
    // A revision that begins with a dash would be read as an option. None does.
    if (revision.startsWith("-")) throw new CommandError("usage", `\`${revision}\` is no revision`)
    this.#asked = asked
    this.#revision = revision
    this.#kinds = kinds
    this.#skip = skip
  }

  /** The text of a file, or of the manifests in a folder. */
  texts(): Promise<readonly SourceText[]> {
    return this.#texts(this.#asked.slice(this.#revision.length + 1))
  }

  async #texts(path: string): Promise<readonly SourceText[]> {
    if (this.#seen.has(path)) return []
    this.#seen.add(path)
    checkNameInBounds(path)
    const entries = await this.#entries(path)
    if (entries.length === 0 && path !== "") await this.#git("cat-file", "-e", `${this.#revision}:${path}`)
    const isText = ({ mode, name }: Entry): boolean =>
      mode !== SUBMODULE && mode !== LINK && (name === path || isManifestName(name))
    const contents = await this.#contents(entries.filter(isText).map(({ object }) => object))
    const texts: SourceText[] = []
    for (const entry of entries) {
      const { mode, object, name } = entry
      const at = `${this.#revision}:${name}`
      if (mode === SUBMODULE) this.#skip(`${at}: it is a submodule`)
      else if (mode === LINK) texts.push(...(await this.#linked(name)))
      else if (isText(entry)) texts.push({ name: at, text: utf8(contentOf(contents, object), `\`${at}\``) })
      else if (isCompressed(name)) this.#skip(`${at}: ${COMPRESSED}`)
    }
    for (const name of [...(await this.#otherNames(path)), ...(await this.#binaries(path, entries))]) {
      if (name !== path) this.#skip(`${this.#revision}:${name}: ${otherName("policy or workload")}`)
    }
    return texts
  }

  async #linked(name: string): Promise<readonly SourceText[]> {
    const target = (await this.#content(name)).toString("utf8")
    const path = posix.join(posix.dirname(name), target)
    try {
      if (!posix.isAbsolute(target)) return await this.#texts(path)
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
    }
    this.#skip(`${this.#revision}:${name}: it is a link to \`${target}\`, which the revision does not have`)
    return []
  }

  async #entries(path: string): Promise<readonly Entry[]> {
    const listed = await this.#git("ls-tree", "-r", "-l", "-z", this.#revision, "--", ...(path === "" ? [] : [path]))
    // `MODE TYPE OBJECT SIZE<TAB>NAME`
    return listed.split("\0").flatMap(line => {
      const tab = line.indexOf("\t")
      const [mode = "", , object = "", size = ""] = line.slice(0, tab).split(/ +/)
      return tab < 0 ? [] : [{ mode, object, size: Number(size) || 0, name: line.slice(tab + 1) }]
    })
  }

  /** Files with other names that contain a manifest. */
  async #otherNames(path: string): Promise<readonly string[]> {
    const found = await this.#textsWith(kindPattern(this.#kinds), path)
    return found.filter(name => !isManifestName(name) && !isPage(name))
  }

  /** The same for files that git considers binary, such as UTF-16. */
  async #binaries(path: string, entries: readonly Entry[]): Promise<readonly string[]> {
    const others = entries.filter(
      ({ mode, size, name }) =>
        mode !== LINK && size > 0 && size <= MOST && !isManifestName(name) && !isPage(name) && !isCompressed(name),
    )
    if (others.length === 0) return []
    const texts = new Set(await this.#textsWith("^", path))
    const found: string[] = []
    for (const { name } of others) {
      if (!texts.has(name) && kindInBytes(await this.#content(name), this.#kinds) !== undefined) found.push(name)
    }
    return found
  }

  async #textsWith(pattern: string, path: string): Promise<readonly string[]> {
    const args = ["grep", "-I", "-l", "-z", "-E", pattern, this.#revision, "--"]
    // Exit code 1 means no match.
    const found = await this.#git(...args, ...(path === "" ? [] : [path])).catch((error: unknown) => {
      if (error instanceof GitError && error.gitExitCode === 1) return ""
      throw error
    })
    return found
      .split("\0")
      .map(name => name.slice(this.#revision.length + 1))
      .filter(name => name !== "")
  }

  /** Contents by object id, read by one process: one for each file would take minutes in a large repository. */
  async #contents(objects: readonly string[]): Promise<ReadonlyMap<string, Buffer>> {
    if (objects.length === 0) return new Map()
    const asked = [...new Set(objects)].map(object => `${object}\n`).join("")
    return contentsIn(await this.#bytesOf(asked, "cat-file", "--batch"))
  }

  #content(name: string): Promise<Buffer> {
    return this.#bytes("show", `${this.#revision}:./${name}`)
  }

  async #git(...args: string[]): Promise<string> {
    return (await this.#bytes(...args)).toString("utf8")
  }

  #bytes(...args: string[]): Promise<Buffer> {
    return this.#bytesOf("", ...args)
  }

  async #bytesOf(input: string, ...args: string[]): Promise<Buffer> {
    try {
      // Paths are literal: git would otherwise read `:(top)secrets` as a path from the top of the repository.
      const env = { ...process.env, GIT_LITERAL_PATHSPECS: "1" }
      const running = run("git", args, { maxBuffer: MAX_BYTES, encoding: "buffer", env })
      // Git may exit before it has read everything. Its exit code then reports the reason.
      running.child.stdin?.on("error", () => {})
      running.child.stdin?.end(input)
      return (await running).stdout
    } catch (error) {
      const { stderr, message, code } = error as GitFailure // execFile throws this
      throw new GitError(
        `there is no \`${this.#asked}\`, as a file or in git: ${String(stderr ?? message).trim()}`,
        code,
      )
    }
  }
}

/** Parses the output of `cat-file --batch`: `OBJECT TYPE SIZE`, a newline, the content, a newline. */
function contentsIn(output: Buffer): ReadonlyMap<string, Buffer> {
  const contents = new Map<string, Buffer>()
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(10, at)
    const [object = "", , size] = output.toString("latin1", at, end).split(" ")
    const length = Number(size)
    // Fail closed: without this manifest the answer would be about less than the input.
    if (end < 0 || !Number.isInteger(length)) throw new GitError(`git cannot read the object ${object}`, undefined)
    contents.set(object, output.subarray(end + 1, end + 1 + length))
    at = end + 1 + length + 1
  }
  return contents
}

function contentOf(contents: ReadonlyMap<string, Buffer>, object: string): Buffer {
  const content = contents.get(object)
  if (content === undefined) throw new GitError(`git cannot read the object ${object}`, undefined)
  return content
}

interface GitFailure {
  readonly stderr?: Buffer
  readonly message: string
  readonly code?: number
}

class GitError extends CommandError {
  constructor(
    message: string,
    readonly gitExitCode: number | undefined,
  ) {
    super("git", message)
  }
}
