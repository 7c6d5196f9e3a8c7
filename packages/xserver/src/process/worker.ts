// SPDX-License-Identifier: Apache-2.0
// One of several processes that share the listeners. The primary sends it everything, and it exits with the primary.

import { messageOf } from "@merlon/xds/runtime"
import type { DataPath } from "./data-path.js"
import { LocalDataPath } from "./local-data-path.js"
import { keepMemorySmall } from "./process-memory.js"
import { type Answered, type Asked, HELLO, type Question } from "./worker-messages.js"

export function runWorker(): void {
  let path: DataPath | undefined
  const answer = (question: Question): Promise<unknown> => {
    if (question.ask === "start") {
      path = new LocalDataPath(question.options)
      path.onUnknownKeys(unknownKeys => reply({ unknownKeys }))
      // The primary has already logged the reason if memory cannot be limited.
      return keepMemorySmall()
    }
    if (path === undefined) return Promise.reject(new Error("the worker was not started"))
    return ask(path, question)
  }
  process.on("message", (message: Asked) => {
    answer(message.question).then(
      result => reply({ number: message.number, answer: result }),
      (error: unknown) => reply({ number: message.number, error: messageOf(error) }),
    )
  })
  // The whole process group receives signals; only the primary acts on them.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined)
  process.on("disconnect", () => process.exit(0))
  reply(HELLO)
}

async function ask(path: DataPath, question: Exclude<Question, { ask: "start" }>): Promise<unknown> {
  switch (question.ask) {
    case "apply":
      return path.apply(question.configuration)
    case "metrics":
      return path.metrics()
    case "decisions":
      return path.decisions()
    case "decision":
      return path.decision(question.id)
    case "calls":
      return path.takeCalls()
    case "follow":
      return path.followDecisions(question.on ? (followed, leftOut) => reply({ followed, leftOut }) : undefined)
    case "start-draining":
      return path.startDraining()
    case "drain":
      return path.drain()
  }
}

function reply(message: Answered): void {
  process.send?.(message)
}
