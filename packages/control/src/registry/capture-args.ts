// SPDX-License-Identifier: Apache-2.0
// The arguments of a Pod's capture container. Injection writes them, and the registry derives from them what the rules
// of a running Pod do: a Pod keeps the rules it got at creation, so its annotations do not show them.

import { listOf } from "./foreign.js"

const FLAGS = [
  "--map",
  "--undeclared",
  "--outbound",
  "--exclude-outbound-ports",
  "--exclude-outbound-cidrs",
  "--include-outbound-cidrs",
  "--udp",
] as const

export type CaptureFlag = (typeof FLAGS)[number]
export type CaptureFlags = { readonly [flag in CaptureFlag]?: string | undefined }

const isFlag = (word: unknown): word is CaptureFlag => FLAGS.some(flag => flag === word)

export function captureArgs(flags: CaptureFlags): readonly string[] {
  return ["capture", ...FLAGS.flatMap(flag => (flags[flag] === undefined ? [] : [flag, flags[flag]]))]
}

/**
 * Undefined for arguments that injection never writes. Fail closed: the program uses the last of duplicate flags and
 * accepts `--flag=value`, so a reader that ignored these forms would miss arguments that disable the capture.
 */
export function readCaptureArgs(args: unknown): CaptureFlags | undefined {
  const [command, ...words] = listOf(args)
  if (command !== "capture" || words.length % 2 !== 0) return undefined
  const flags: { [flag in CaptureFlag]?: string } = {}
  for (let at = 0; at < words.length; at += 2) {
    const [flag, value] = [words[at], words[at + 1]]
    if (!isFlag(flag) || flags[flag] !== undefined || typeof value !== "string") return undefined
    flags[flag] = value
  }
  return flags
}
