// SPDX-License-Identifier: Apache-2.0
// Runs merlonctl in the test's process. Its output and exit code are values; the streams and `process.exitCode` are
// restored afterwards.

import { vi } from "vitest"
import { runProgram } from "../program.js"

export interface Typed {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function typed(words: readonly string[]): Promise<Typed> {
  const [out, err] = [capture(process.stdout), capture(process.stderr)]
  process.exitCode = undefined
  try {
    await runProgram(words)
    return { code: Number(process.exitCode ?? 0), out: out.text(), err: err.text() }
  } finally {
    process.exitCode = undefined
    out.end()
    err.end()
  }
}

function capture(stream: NodeJS.WriteStream): { text(): string; end(): void } {
  const texts: string[] = []
  const spy = vi.spyOn(stream, "write").mockImplementation(text => texts.push(String(text)) > 0)
  return { text: () => texts.join(""), end: () => spy.mockRestore() }
}
