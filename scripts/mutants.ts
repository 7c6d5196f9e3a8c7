// SPDX-License-Identifier: Apache-2.0
// `npm run test:mutants [-- FILTER]`: breaks every line that decides access, one at a time, in a copy of the
// repository, and runs the tests that must notice. A mutant that survives, or that no longer applies, fails the run.
// `-- --table` prints the list of THREAT_MODEL.md. `-- --unseen` breaks the proofs as listed in `test/proofs`: their
// own tests must pass, and the independent checker must reject the resulting proofs.

import { execFileSync, spawnSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { applied, type Mutant, mutants, mutantsTable } from "../test/mutants/mutants.js"

/**
 * Copies tracked and new files, with packages linked to the copy's own, so that tests use the broken line through any
 * package.
 */
function copyOfRepository(): string {
  const root = mkdtempSync(join(tmpdir(), "merlon-mutants-"))
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
  for (const file of listed.toString().split("\0")) {
    if (file === "") continue
    mkdirSync(join(root, dirname(file)), { recursive: true })
    cpSync(file, join(root, file), { dereference: false, force: true, errorOnExist: false })
  }
  const modules = join(root, "node_modules")
  mkdirSync(join(modules, "@merlon"), { recursive: true })
  for (const name of readdirSync("node_modules")) {
    if (name !== "@merlon") symlinkSync(resolve("node_modules", name), join(modules, name))
  }
  for (const name of readdirSync("packages")) {
    symlinkSync(join(root, "packages", name), join(modules, "@merlon", name))
    // Tests in `test` import the broken line from source, and other packages as built.
    const built = resolve("packages", name, "dist")
    if (existsSync(built)) symlinkSync(built, join(root, "packages", name, "dist"))
  }
  return root
}

/** The output of failed tests; undefined if they passed. */
function failureOf(root: string, tests: readonly string[]): string | undefined {
  // A test that merely timed out has not noticed the mutant, so time limits are long enough for a busy machine, but end
  // a hang.
  const options = ["--bail=1", "--reporter=dot", "--testTimeout=120000", "--hookTimeout=120000"]
  const vitest = [resolve("node_modules/vitest/vitest.mjs"), "run", ...options, ...tests]
  const { status, stdout, stderr } = spawnSync(process.execPath, vitest, { cwd: root, encoding: "utf8" })
  return status === 0 ? undefined : `${stdout}${stderr}`
}

function survives(root: string, mutant: Mutant): string | undefined {
  const file = join(root, mutant.file)
  const source = readFileSync(file, "utf8")
  const broken = applied(mutant, source)
  if (broken === undefined) return "does not apply: its text is not there exactly once"
  writeFileSync(file, broken)
  try {
    return failureOf(root, mutant.tests) === undefined ? `survives ${mutant.tests.join(", ")}` : undefined
  } finally {
    writeFileSync(file, source)
  }
}

const BY_CHECKER = "test/proofs/seeded-errors.test.ts"
const OWN_TESTS = ["packages/policy/src/proof"]

/** Undefined if the proofs' own tests notice nothing and the checker rejects the proofs. */
function isSeen(root: string, mutant: Mutant): string | undefined {
  const accepted = survives(root, mutant)
  if (accepted !== undefined) return accepted
  return survives(root, { ...mutant, tests: OWN_TESTS }) === undefined ? "seen by the proofs' own tests" : undefined
}

function main(isUnseen: boolean, filter = ""): number {
  const chosen = mutants.filter(
    ({ what, file, tests }) => `${file} ${what}`.includes(filter) && (!isUnseen || tests.includes(BY_CHECKER)),
  )
  const root = copyOfRepository()
  try {
    // A test that fails anyway kills every mutant and proves nothing.
    const failing = failureOf(root, [...new Set(chosen.flatMap(({ tests }) => tests))])
    if (failing !== undefined) {
      process.stderr.write(`${failing}\nthe tests fail without any mutant\n`)
      return 1
    }
    let alive = 0
    for (const mutant of chosen) {
      const error = isUnseen ? isSeen(root, mutant) : survives(root, mutant)
      if (error !== undefined) alive++
      process.stdout.write(`${error === undefined ? "killed " : "ALIVE  "} ${mutant.file}: ${mutant.what}\n`)
      if (error !== undefined) process.stdout.write(`        ${error}\n`)
    }
    process.stdout.write(`${chosen.length - alive} of ${chosen.length} mutants killed\n`)
    return alive === 0 && chosen.length > 0 ? 0 : 1
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

const [flag, ...others] = process.argv.slice(2)
if (flag === "--table") process.stdout.write(mutantsTable())
else process.exitCode = flag === "--unseen" ? main(true, ...others) : main(false, flag)
