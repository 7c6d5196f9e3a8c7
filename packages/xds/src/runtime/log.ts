// SPDX-License-Identifier: Apache-2.0
// The logger interface of client and server, which a pino logger implements.

export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const SILENT: Log = { info() {}, warn() {}, error() {} }

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
