// SPDX-License-Identifier: Apache-2.0
// The texts of `REVISION:PATH` in the git repository we stand in, as the revision has them. Links are followed within the
// revision; one that leads out of it, and a submodule, are told.

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
  /** In bytes; 0 of a submodule. */
  readonly size: number
  readonly name: string
}

const LINK = "120000"
const SUBMODULE = "160000"

export class GitRevision {
  readonly #asked: string
  readonly #revision: string
  readonly #kinds: readonly string[]
  readonly #skip: (what: string) => void
  readonly #seen = new Set<string>()

  /** `asked` is `REVISION:PATH`; `kinds`: what a file of another name may hold that has to be told. */
  constructor(asked: string, kinds: readonly string[], skip: (what: string) => void) {
    const revision = asked.slice(0, asked.indexOf(":"))
    // A revision that begins with a dash would be an option; none does.
    if (revision.startsWith("-")) throw new CommandError("usage", `\`${revision}\` is no revision`)
    this.#asked = asked
    this.#revision = revision
    this.#kinds = kinds
    this.#skip = skip
  }

  /** A file, or the manifests below a folder. */
  texts(): Promise<readonly SourceText[]> {
    return this.#texts(this.#asked.slice(this.#revision.length + 1))
  }

  async #texts(path: string): Promise<readonly SourceText[]> {
    if (this.#seen.has(path)) return []
    this.#seen.add(path)
    checkNameInBounds(path)
    const entries = await this.#entries(path)
    if (entries.length === 0 && path !== "") await this.#git("cat-file", "-e", `${this.#revision}:${path}`)
    const texts: SourceText[] = []
    for (const { mode, name } of entries) {
      const at = `${this.#revision}:${name}`
      if (mode === SUBMODULE) this.#skip(`${at}: it is a submodule`)
      else if (mode === LINK) texts.push(...(await this.#linked(name)))
      else if (name === path || isManifestName(name))
        texts.push({ name: at, text: utf8(await this.#content(name), `\`${at}\``) })
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
      const [mode = "", , , size = ""] = line.slice(0, tab).split(/ +/)
      return tab < 0 ? [] : [{ mode, size: Number(size) || 0, name: line.slice(tab + 1) }]
    })
  }

  /** Texts that hold what a manifest would. */
  async #otherNames(path: string): Promise<readonly string[]> {
    const found = await this.#textsWith(kindPattern(this.#kinds), path)
    return found.filter(name => !isManifestName(name) && !isPage(name))
  }

  /** The same of what git takes for no text, as UTF-16. */
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
    // Exit code 1: there is none.
    const found = await this.#git(...args, ...(path === "" ? [] : [path])).catch((error: unknown) => {
      if (error instanceof GitError && error.gitExitCode === 1) return ""
      throw error
    })
    return found
      .split("\0")
      .map(name => name.slice(this.#revision.length + 1))
      .filter(name => name !== "")
  }

  #content(name: string): Promise<Buffer> {
    return this.#bytes("show", `${this.#revision}:./${name}`)
  }

  async #git(...args: string[]): Promise<string> {
    return (await this.#bytes(...args)).toString("utf8")
  }

  async #bytes(...args: string[]): Promise<Buffer> {
    try {
      // A path is a path: git would read `:(top)secrets` as one from the top of the repository.
      const env = { ...process.env, GIT_LITERAL_PATHSPECS: "1" }
      return (await run("git", args, { maxBuffer: 64 << 20, encoding: "buffer", env })).stdout
    } catch (error) {
      const { stderr, message, code } = error as GitFailure // what execFile throws
      throw new GitError(
        `there is no \`${this.#asked}\`, as a file or in git: ${String(stderr ?? message).trim()}`,
        code,
      )
    }
  }
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
