// SPDX-License-Identifier: Apache-2.0
// Runs all command blocks of docs/kubernetes.md in one shell, with the kubectl in a folder.

import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { delimiter, dirname } from "node:path"
import { expect, inject } from "vitest"
import { blocks } from "../../../scripts/markdown-blocks.js"

const all = blocks(readFileSync("docs/kubernetes.md", "utf8"))
const commands = all
  .map((block, at) => ({ ...block, next: all[at + 1] }))
  .filter(({ language }) => language === "shell")
const mark = (line: number): string => `--- end of the block at ${line} ---`

export async function walkPage(...folders: readonly string[]): Promise<void> {
  const script = commands.map(({ text, line }) => `${text}echo '${mark(line)}'`).join("\n")
  const [first = "", ...before] = inject("inside")
  const env = {
    ...process.env,
    KUBECONFIG: inject("kubeconfig"),
    PATH: [...folders, dirname(inject("kubectl")), process.env.PATH].join(delimiter),
  }
  const { out, output } = await new Promise<{ out: string; output: string }>(resolve => {
    execFile(first, [...before, "bash", "-e", "-c", script], { env }, (error, out, err) =>
      resolve({ out, output: `${out}${err}${error === null ? "" : error.message}` }),
    )
  })
  let rest = out
  for (const { line, next } of commands) {
    const [printed = "", ...others] = rest.split(`${mark(line)}\n`)
    expect(others.length, `the block at line ${line} ends:\n${output}`).toBeGreaterThan(0)
    rest = others.join(`${mark(line)}\n`)
    if (next?.language === "text") expect(printed, `line ${line}`).toBe(next.text)
  }
}
