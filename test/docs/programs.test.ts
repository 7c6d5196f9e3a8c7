// SPDX-License-Identifier: Apache-2.0
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { meshNames, readDocuments } from "@merlon/policy"
import { readConfigurationFile } from "@merlon/xserver"
import { transform } from "esbuild"
import { afterAll, expect, it } from "vitest"
import { blocks } from "../../scripts/markdown-blocks.js"
import { files, readText } from "../architecture/tree.js"
import { BLOCKS } from "../e2e/local/support/own-ports.js"
import { isProgram } from "../runner/programs.js"
import { freshClone, freshShell } from "./fresh-clone.js"
import { masked } from "./masked.js"

const run = promisify(execFile)

// Inside the repository, so that Node resolves our packages as in any other package.
const scratch = (): string => mkdtempSync("test/docs/.program-")

const mark = (index: number): string => `--- end of block ${index} ---`

/** The output before each mark; empty if the mark was not printed. */
function between(marks: number, out: string): readonly string[] {
  let rest = out
  return Array.from({ length: marks }, (_, index) => {
    const [printed = "", ...others] = rest.split(`${mark(index)}\n`)
    rest = others.join(`${mark(index)}\n`)
    return printed
  })
}

/**
 * Runs the programs in one process, because loading our packages takes longer than the programs themselves, and returns
 * what each prints.
 */
async function printedBy(programs: readonly string[]): Promise<readonly string[]> {
  const folder = scratch()
  try {
    const steps = programs.map(async (program, index) => {
      // Removes the types with esbuild. A loader such as tsx would transform all of our modules too.
      const { code } = await transform(program, { loader: "ts" })
      writeFileSync(join(folder, `${index}.mjs`), code)
      // If a program fails, its error is printed instead, and the next program runs anyway.
      return `await import("./${index}.mjs").catch(console.log)\nconsole.log("${mark(index)}")\n`
    })
    writeFileSync(join(folder, "all.mjs"), (await Promise.all(steps)).join(""))
    return between(programs.length, execFileSync("node", [join(folder, "all.mjs")], { encoding: "utf8" }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Set-up commands, which the developer who runs this test has already run. */
const SET_UP = new Set(["npm ci && npm test\n", "npm ci && npm start\n", "npx merlonctl dashboard\n"])

/** A page is stopped after this time, and the failure names the command that did not finish. */
const PAGE_LIMIT_MS = 480_000

interface Page {
  /** The commands with their expected output, if the page shows it. */
  readonly commands: {
    readonly text: string
    readonly prints: string | undefined
    /** Whether the output differs between runs in parts that `masked` replaces. */
    readonly varies: boolean
    readonly where: string
  }[]
}

/** Its commands run in a fresh clone, where `npm start` builds. */
const IN_CLONE = "README.md"
const LIBRARY = "docs/policy-library.md"
let cloned: string | undefined
const clone = (): string => {
  cloned ??= freshClone()
  return cloned
}
afterAll(() => {
  if (cloned !== undefined) rmSync(cloned, { recursive: true, force: true })
})

interface Place {
  readonly cwd: string
  readonly shell: NodeJS.ProcessEnv
}

const placeInClone = (): Place => ({ cwd: clone(), shell: freshShell(clone()) })

/**
 * A folder that looks like this clone but has no mesh yet, so that pages do not share one. Its shell has no variables
 * of Merlon; a page sets those that it uses.
 */
function placeHere(folder: string): Place {
  const cwd = join(folder, "clone")
  mkdirSync(cwd)
  for (const name of readdirSync(".").filter(entry => entry !== ".git" && entry !== ".merlon"))
    symlinkSync(resolve(name), join(cwd, name))
  const ours = /^(MERLON_|KUBECONFIG$)/
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)))
  return { cwd, shell: { ...inherited, TMPDIR: folder } }
}

/** Folders in which a page has started a mesh. */
function meshesBelow(...folders: readonly string[]): readonly string[] {
  return folders.flatMap(folder =>
    readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(({ name }) => join(folder, name))
      .filter(data => existsSync(join(data, "mesh.json"))),
  )
}

/**
 * Runs the commands of a page one after the other in one shell, until one fails. A mesh that the page starts has its
 * state in its own folder and is stopped when the page ends, even after a failure.
 */
async function runPage(
  path: string,
  { commands }: Page,
): Promise<{ readonly code: number | null; readonly out: string; readonly all: string }> {
  const folder = mkdtempSync(join(tmpdir(), "merlon-page-"))
  const { cwd, shell: usual } = path === IN_CLONE ? placeInClone() : placeHere(folder)
  const env = { ...usual, PATH: `${shortNpx(folder)}:${process.env.PATH ?? ""}` }
  const typed = commands.map(({ text }, index) => `${text}\necho '${mark(index)}'`)
  // Background processes of the page are stopped when it ends, even after a failure.
  const script = ["trap 'kill -9 $(jobs -p) 2> /dev/null || true' EXIT", ...typed].join("\n")
  const result = await new Promise<{ code: number | null; out: string; all: string }>(resolve => {
    const shell = spawn("bash", ["-m", "-e", "-u", "-c", script], { stdio: ["ignore", "pipe", "pipe"], cwd, env })
    let out = ""
    let all = ""
    shell.stdout.on("data", chunk => {
      out += chunk
      all += chunk
    })
    shell.stderr.on("data", chunk => {
      all += chunk
    })
    const limit = setTimeout(() => {
      const stuck = commands.find((_, index) => !out.includes(mark(index)))
      all += `\n${stuck?.where} did not end within ${PAGE_LIMIT_MS / 60_000} minutes:\n${stuck?.text}`
      shell.kill("SIGTERM")
    }, PAGE_LIMIT_MS)
    shell.on("close", code => {
      clearTimeout(limit)
      resolve({ code, out, all })
    })
  })
  for (const data of meshesBelow(folder, cwd))
    spawnSync("node", ["packages/cli/bin/merlonctl.js", "down", "--data", data], { env })
  rmSync(folder, { recursive: true, force: true })
  return result
}

/**
 * A folder with an `npx` that starts our programs directly, because loading npm takes longer than most commands. Other
 * programs are started by npm's npx, which the test below also checks for ours. Pages in the clone use the programs
 * built here too; only the mesh belongs to the clone.
 */
function shortNpx(folder: string): string {
  const bin = join(folder, "bin")
  mkdirSync(bin)
  const found = `${resolve("node_modules/.bin")}/$1`
  const own = execFileSync("sh", ["-c", "command -v npx"], { encoding: "utf8" }).trim()
  const script = `#!/bin/sh\ncase "$1" in merlonctl | merlond) program="${found}"; shift; exec "$program" "$@" ;; esac\nexec ${own} "$@"\n`
  writeFileSync(join(bin, "npx"), script, { mode: 0o755 })
  return bin
}

it.each(["merlonctl", "merlond"])("`npx %s` starts the built program", name => {
  const resultOf = (program: string, ...args: readonly string[]): string =>
    execFileSync(program, [...args, "--version"], { encoding: "utf8" })
  expect(resultOf("npx", name)).toBe(resultOf("node", `packages/cli/bin/${name}.js`))
  expect(realpathSync(`node_modules/.bin/${name}`)).toBe(resolve(`packages/cli/bin/${name}.js`))
})

const all = files("*.md").flatMap(path => {
  const found = blocks(readText(path))
  return found.map((block, index) => ({ ...block, path, where: `${path}:${block.line}`, next: found[index + 1] }))
})
const of = (language: string) => all.filter(block => block.language === language)

let printed: Promise<readonly string[]> | undefined

it.each(of("ts").map((block, index) => ({ ...block, index })))(
  "the program at $where prints what the page shows",
  async ({ index, next }) => {
    expect(next?.language, "a program is followed by what it prints").toBe("text")
    printed ??= printedBy(of("ts").map(({ text }) => text))
    expect((await printed)[index]).toBe(next?.text)
  },
)

// Runs before the commands of the README, which build the clone.
it.each(
  of("ts")
    .filter(({ path }) => path === LIBRARY)
    .slice(0, 1),
)("the program at $where prints the same in a clone without a build", async ({ text, next }) => {
  writeFileSync(join(clone(), "program.ts"), text)
  const { stdout } = await run("npx", ["tsx", "program.ts"], { cwd: clone(), env: freshShell(clone()) })
  expect(stdout).toBe(next?.text)
})

for (const [path, page] of pagesWithCommands()) {
  const options = { timeout: 600_000, tags: programsOf(page).map(name => `needs/${name}`) }
  it(`the commands of ${path} succeed and print what the page shows`, options, async () => {
    const { code, out, all } = await runPage(path, page)
    expect(code, all).toBe(0)
    const found = between(page.commands.length, out)
    for (const [index, { prints, varies, where }] of page.commands.entries()) {
      const printed = found[index] ?? ""
      if (prints === undefined) continue
      if (varies) expect(masked(printed), where).toBe(masked(prints))
      else expect(printed, where).toBe(prints)
    }
  })
}

/** The required programs: those that the page's commands call, and the shell that runs them. */
function programsOf({ commands }: Page): readonly string[] {
  const words = commands.flatMap(({ text }) => text.match(/[\w-]+/g) ?? [])
  return [...new Set(["bash", ...words.filter(isProgram)])]
}

it("pages use no address that a mesh of another test could get", () => {
  const blocks = of("sh").flatMap(({ text, where }) =>
    [...text.matchAll(/\b127\.(\d+)\.0\.\d+/g)].map(found => ({ found, where })),
  )
  expect(blocks).not.toEqual([])
  const taken = blocks.filter(({ found: [, block] }) => Number(block) >= BLOCKS.first && Number(block) < BLOCKS.beyond)
  expect(taken.map(({ found: [address], where }) => `${where} ${address}`)).toEqual([])
})

function pagesWithCommands(): ReadonlyMap<string, Page> {
  const pages = new Map<string, Page>()
  for (const { path, text, next, where } of of("sh")) {
    if (SET_UP.has(text)) continue
    const page = pages.get(path) ?? { commands: [] }
    pages.set(path, page)
    const varies = next?.language === "output"
    page.commands.push({ text, where, varies, prints: varies || next?.language === "text" ? next.text : undefined })
  }
  return pages
}

// This page has documents of other projects; real gateways read them in test/e2e/gateways.test.ts.
const GATEWAYS = "docs/gateways.md"

it.each(of("yaml").filter(({ path }) => path !== GATEWAYS))("the document at $where is valid", ({ text }) => {
  const read = readDocuments(text, meshNames())
  expect(read.length).toBeGreaterThan(0)
  expect(read.flatMap(({ errors }) => errors.map(({ message }) => message))).toEqual([])
})

it.each(of("yml"))("the configuration of xserver at $where can be read", ({ text }) => {
  const folder = scratch()
  try {
    const file = join(folder, "config.yaml")
    writeFileSync(file, text)
    expect(readConfigurationFile(file, 1).ports.length).toBeGreaterThan(0)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
