// SPDX-License-Identifier: Apache-2.0
// One line per request. Lines are batched: a write per line would cost more than the rest of the request.

import type { LineOutput } from "@merlon/xds/runtime"

/** JSON for machines or text for humans. */
export type AccessLogFormat = "json" | "text" | "off"

/** One record as a line, including the line break. */
export type LogLine<R> = (record: R, time: Date) => string

const FLUSH_BYTES = 64 * 1024
const FLUSH_MS = 100
/** If the log is not read, losing some lines is better than holding all of them. */
const MAX_PENDING = 4 * 1024 * 1024

export class AccessLog<R> {
  #lines: string[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #dropped = 0
  readonly #render: LogLine<R>

  constructor(
    render: LogLine<R>,
    private readonly out: LineOutput,
  ) {
    this.#render = render
  }

  get dropped(): number {
    return this.#dropped
  }

  write(record: R): void {
    if (this.out.writableLength > MAX_PENDING) {
      this.#dropped++
      return
    }
    const line = this.#render(record, new Date())
    this.#lines.push(line)
    this.#bytes += line.length
    if (this.#bytes >= FLUSH_BYTES) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref()
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#lines.length === 0) return
    this.out.write(this.#lines.join(""))
    this.#lines = []
    this.#bytes = 0
  }
}
