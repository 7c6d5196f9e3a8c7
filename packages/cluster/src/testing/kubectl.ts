// SPDX-License-Identifier: Apache-2.0
//
// Runs the real kubectl against a server. `KUBECTL` names another binary. If there is none on the PATH, the suites that
// need it are skipped.

import { spawn } from "node:child_process"

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

const binary = process.env.KUBECTL ?? "kubectl"

export function kubectl(kubeconfig: string, home: string) {
  return (args: string, input?: string, onOutput?: (so: string) => void): Promise<Ran> =>
    new Promise((resolve, reject) => {
      // A separate cache, so that discovery is read from this server.
      const child = spawn(binary, split(args), { env: { ...process.env, KUBECONFIG: kubeconfig, HOME: home } })
      let out = ""
      let err = ""
      child.stdout.on("data", (chunk: Buffer) => {
        out += chunk.toString()
        onOutput?.(out)
      })
      child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()))
      child.on("error", reject)
      child.on("close", code => resolve({ code: code ?? -1, out, err }))
      child.stdin.end(input ?? "")
    })
}

/** Splits a command line into words. Single quotes enclose words with spaces. */
function split(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(match => match[1] ?? match[2] ?? "")
}
