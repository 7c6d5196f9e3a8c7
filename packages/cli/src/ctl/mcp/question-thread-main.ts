// SPDX-License-Identifier: Apache-2.0
// The entry point of a query's thread: runs one command of merlonctl and sends its output.

import { parentPort, workerData } from "node:worker_threads"
import { confine } from "../confinement.js"
import { runProgram } from "../program.js"
import type { Question } from "./question-thread.js"
import type { Answered } from "./server.js"

/** Longer output does not fit into a model's context either. */
const MOST_CHARACTERS = 4 << 20

function collect(stream: NodeJS.WriteStream): () => string {
  const texts: string[] = []
  let length = 0
  stream.write = (text: string | Uint8Array): boolean => {
    length += text.length
    if (length <= MOST_CHARACTERS) texts.push(String(text))
    return true
  }
  return () => {
    if (length > MOST_CHARACTERS)
      throw new Error(`the answer is longer than ${MOST_CHARACTERS} characters; ask about less`)
    return texts.join("")
  }
}

async function main(): Promise<void> {
  const { words, confinement } = workerData as Question // `QuestionThreads` sends this
  confine(confinement)
  const [out, err] = [collect(process.stdout), collect(process.stderr)]
  await runProgram(words)
  const answered: Answered = { code: Number(process.exitCode ?? 0), out: out(), err: err() }
  parentPort?.postMessage(answered)
}

void main()
