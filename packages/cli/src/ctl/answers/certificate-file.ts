// SPDX-License-Identifier: Apache-2.0
// The file of `--certificate`. It is written only when it is complete: an answer that cannot be certified leaves no
// file.

import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs"
import type { MeshConfig } from "@merlon/policy/mesh"
import { Certificate, NotCertified } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { CommandError, usageError } from "../exit.js"
import { type Inputs, isComplete, NOT_ALL_READ } from "./inputs.js"

export class CertificateFile {
  readonly certificate: Certificate
  readonly #path: string
  readonly #file: number

  constructor(path: string) {
    this.#path = path
    try {
      this.#file = openSync(this.#partial, "w")
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw usageError(`cannot write \`${path}\`: ${reason}`)
    }
    this.certificate = new Certificate(text => writeSync(this.#file, text))
  }

  /** Throws if the answer cannot be certified. `sets`: all policies of each side. */
  finish(sets: readonly (readonly PolicyDocument[])[], mesh: MeshConfig, read: Inputs): void {
    try {
      if (!isComplete(read)) throw new NotCertified(NOT_ALL_READ)
      this.certificate.end(sets, mesh)
      closeSync(this.#file)
      renameSync(this.#partial, this.#path)
    } catch (error) {
      rmSync(this.#partial, { force: true })
      if (error instanceof NotCertified)
        throw new CommandError("not-certified", `no certificate written: ${error.message}`)
      throw error
    }
  }

  get #partial(): string {
    return `${this.#path}.partial`
  }
}

export function certificateFile(path: string | undefined): CertificateFile | undefined {
  return path === undefined ? undefined : new CertificateFile(path)
}
