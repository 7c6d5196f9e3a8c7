// SPDX-License-Identifier: Apache-2.0
// What becomes known of the calls that a workload makes: lines of the access log.

import type { CallObserver, CallRecord } from "@merlon/xclient"
import { type LineOutput, standardOutput } from "@merlon/xds/runtime"
import { AccessLog, type AccessLogFormat } from "@merlon/xserver/observe"
import { callLine } from "./call-line.js"

export interface ObservedCallsOptions {
  readonly accessLog: AccessLogFormat
  readonly out?: LineOutput
}

export class ObservedCalls implements CallObserver {
  readonly #log: AccessLog<CallRecord> | undefined

  constructor({ accessLog, out = standardOutput() }: ObservedCallsOptions) {
    if (accessLog !== "off") this.#log = new AccessLog(callLine(accessLog), out)
  }

  trace(): undefined {
    return undefined
  }

  done(record: CallRecord): void {
    this.#log?.write(record)
  }

  async close(): Promise<void> {
    this.#log?.flush()
  }
}
