// SPDX-License-Identifier: Apache-2.0
// The fields of an HTTP/2 message without its pseudo-headers, with the interface of both HTTP versions.

import type { Fields } from "../http/fields.js"
import type { Field } from "./field.js"
import { FIELD_KIND, type FieldKind } from "./field-kind.js"

export class FieldList implements Fields {
  #fields: readonly Field[]
  #present = 0

  constructor(fields: readonly Field[]) {
    this.#fields = fields
    for (const { kind } of fields) this.#present |= 1 << kind
  }

  get size(): number {
    return this.#fields.length
  }

  name(index: number): string {
    return this.#fields[index]?.name ?? ""
  }

  value(index: number): string {
    return this.#fields[index]?.value ?? ""
  }

  kind(index: number): FieldKind {
    return this.#fields[index]?.kind ?? FIELD_KIND.plain
  }

  sensitive(index: number): boolean {
    return this.#fields[index]?.sensitive ?? false
  }

  has(kind: FieldKind): boolean {
    return (this.#present & (1 << kind)) !== 0
  }

  get(lowerCaseName: string): readonly string[] | undefined {
    let found: string[] | undefined
    for (const { name, value } of this.#fields) {
      if (name !== lowerCaseName) continue
      if (found === undefined) found = [value]
      else found.push(value)
    }
    return found
  }

  remove(lowerCaseNames: readonly string[]): void {
    this.#fields = this.#fields.filter(({ name }) => !lowerCaseNames.includes(name))
  }

  line(index: number): string {
    return `${this.name(index)}: ${this.value(index)}\r\n`
  }

  lines(keep: (index: number) => boolean): string {
    let text = ""
    for (let index = 0; index < this.#fields.length; index++) if (keep(index)) text += this.line(index)
    return text
  }
}
