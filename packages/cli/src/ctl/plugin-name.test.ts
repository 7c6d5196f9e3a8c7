// SPDX-License-Identifier: Apache-2.0
import { expect, it, vi } from "vitest"
import { runProgram } from "./program.js"

async function helpOf(words: readonly string[], name?: string): Promise<string> {
  const texts: string[] = []
  const spies = [process.stdout, process.stderr].map(stream =>
    vi.spyOn(stream, "write").mockImplementation(text => texts.push(String(text)) > 0),
  )
  try {
    await runProgram(words, name)
    return texts.join("")
  } finally {
    for (const spy of spies) spy.mockRestore()
    process.exitCode = undefined
  }
}

it("is called `kubectl merlon` as a plugin of kubectl", async () => {
  const help = await helpOf(["diff", "--help"], "kubectl merlon")
  expect(help).toContain("Usage: kubectl merlon diff [options]")
  expect(help).toContain("  kubectl merlon diff -f policy.yaml")
  expect(help).not.toContain("merlonctl")
  expect(await helpOf(["diff", "--nothing"], "kubectl merlon")).toContain("see `kubectl merlon diff --help`")
})

it("is called merlonctl otherwise", async () => {
  expect(await helpOf(["diff", "--help"])).toContain("Usage: merlonctl diff [options]")
})
