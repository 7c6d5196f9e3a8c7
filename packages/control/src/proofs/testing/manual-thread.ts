// SPDX-License-Identifier: Apache-2.0
// A thread that answers when the test says so, or never.

import { EventEmitter } from "node:events"
import type { Thread } from "../prover.js"
import type { FromThread, Question, ToThread } from "../question.js"

export class ManualThread extends EventEmitter implements Thread {
  readonly asked: { readonly id: number; readonly question: Question }[] = []
  changes = 0
  ended = false

  constructor(readonly endedQuestion: SharedArrayBuffer) {
    super()
  }

  /** The query that the thread was told to cancel. */
  get cancelled(): number {
    return new Int32Array(this.endedQuestion)[0] ?? 0
  }

  postMessage(message: ToThread): void {
    if ("changes" in message) this.changes += message.changes.documents.length
    else this.asked.push(message)
  }

  say(message: FromThread): void {
    this.emit("message", message)
  }

  answer(): void {
    const last = this.asked.at(-1)
    if (last !== undefined) this.say({ id: last.id, answer: { rejections: [], warnings: [`answer ${last.id}`] } })
  }

  terminate(): void {
    if (this.ended) return
    this.ended = true
    this.emit("exit")
  }

  unref(): void {}
}
