// SPDX-License-Identifier: Apache-2.0
// Runs a system program with text on its standard input, and waits until it ends.

import { spawn } from "node:child_process"

export interface Ran {
  /** False if the program does not exist. */
  readonly found: boolean
  readonly code: number | null
  readonly errors: string
}

export type RunProgram = (program: string, args: readonly string[], input: string) => Promise<Ran>

const MAX_ERRORS = 4_096

export function programRunner(env: NodeJS.ProcessEnv): RunProgram {
  return (program, args, input) =>
    new Promise((resolve, reject) => {
      const child = spawn(program, [...args], { env, stdio: ["pipe", "ignore", "pipe"] })
      let errors = ""
      child.stderr.on("data", (chunk: Buffer) => {
        errors = `${errors}${chunk.toString()}`.slice(0, MAX_ERRORS)
      })
      child.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") resolve({ found: false, code: null, errors: "" })
        else reject(error)
      })
      child.on("close", code => resolve({ found: true, code, errors }))
      // The exit code reports a program that ends without reading its input.
      child.stdin.on("error", () => undefined)
      child.stdin.end(input)
    })
}
