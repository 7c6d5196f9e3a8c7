// SPDX-License-Identifier: Apache-2.0
// The entry point of the proof thread. It receives changes of the cluster and answers one query at a time.

import { parentPort, workerData } from "node:worker_threads"
import { Answering } from "./answering.js"
import type { FromThread, ThreadSetup, ToThread } from "./question.js"

const { mesh, ended } = workerData as ThreadSetup // the parent passes this
const endedQuestion = new Int32Array(ended)
const answering = new Answering(mesh)
const say = (message: FromThread): void => parentPort?.postMessage(message)

parentPort?.on("message", (message: ToThread) => {
  if ("changes" in message) return answering.take(message.changes)
  const { id, question } = message
  try {
    say({ id, answer: answering.answer(question, () => Atomics.load(endedQuestion, 0) === id) })
  } catch (error) {
    say({ id, failed: error instanceof Error ? error.message : String(error) })
  }
})
say({ ready: true })
