// SPDX-License-Identifier: Apache-2.0
// Reads a tree of plain values into typed ones. Every error names the field, what stands there and what would be right;
// a field nobody asked for is an error too, with the nearest one that exists.

import { nearest } from "@merlon/policy"
import type { ConfigurationCode } from "../errors.js"

export class ConfigurationError extends Error {
  constructor(
    readonly code: ConfigurationCode,
    message: string,
  ) {
    super(message)
  }
}

export class Reader {
  readonly #asked = new Set<string>()
  readonly #object: { readonly [name: string]: unknown }

  private constructor(
    object: object,
    readonly path: string,
  ) {
    this.#object = object as { readonly [name: string]: unknown } // any object can be read by name
  }

  static of(value: unknown, path: string): Reader {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new ConfigurationError("config-value", `${path || "the configuration"}: must be a mapping`)
    }
    return new Reader(value, path)
  }

  text(name: string, fallback?: string): string {
    const value = this.#take(name)
    if (value === undefined && fallback !== undefined) return fallback
    if (typeof value !== "string" || value === "") throw this.#wrong(name, "must be a text", value)
    return value
  }

  optionalText(name: string): string | undefined {
    return this.#take(name) === undefined ? undefined : this.text(name)
  }

  whole(name: string, minimum: number, maximum: number, fallback?: number): number {
    const value = this.#take(name)
    if (value === undefined && fallback !== undefined) return fallback
    if (typeof value !== "number" || !Number.isInteger(value) || value < minimum || value > maximum) {
      throw this.#wrong(name, `must be a whole number from ${minimum} to ${maximum}`, value)
    }
    return value
  }

  choice<const T extends string>(name: string, values: readonly T[], fallback: T): T {
    const value = this.#take(name)
    if (value === undefined) return fallback
    const found = values.find(candidate => candidate === value)
    if (found === undefined) throw this.#wrong(name, `must be one of ${values.join(", ")}`, value)
    return found
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.#take(name) ?? fallback
    if (typeof value !== "boolean") throw this.#wrong(name, "must be true or false", value)
    return value
  }

  texts(name: string): readonly string[] {
    const value = this.#take(name) ?? []
    if (!Array.isArray(value) || !value.every(item => typeof item === "string")) {
      throw this.#wrong(name, "must be a list of texts", value)
    }
    return value
  }

  textMap(name: string): { readonly [key: string]: string } {
    const value = this.#take(name) ?? {}
    const isMap = typeof value === "object" && !Array.isArray(value)
    if (!isMap || !Object.values(value).every(item => typeof item === "string")) {
      throw this.#wrong(name, "must map texts to texts", value)
    }
    return value as { readonly [key: string]: string } // just checked
  }

  list<T>(name: string, read: (item: unknown, path: string) => T): readonly T[] {
    const value = this.#take(name) ?? []
    if (!Array.isArray(value)) throw this.#wrong(name, "must be a list", value)
    return value.map((item, index) => read(item, `${this.#at(name)}[${index}]`))
  }

  map<T>(name: string, read: (item: unknown, path: string) => T): { readonly [key: string]: T } {
    const value = this.#take(name)
    if (value === undefined) return {}
    const entries = Object.entries(Reader.of(value, this.#at(name)).#object)
    return Object.fromEntries(entries.map(([key, item]) => [key, read(item, `${this.#at(name)}[${key}]`)]))
  }

  child<T>(name: string, read: (reader: Reader) => T): T {
    const reader = Reader.of(this.#take(name) ?? {}, this.#at(name))
    const result = read(reader)
    reader.end()
    return result
  }

  has(name: string): boolean {
    return this.#take(name) !== undefined
  }

  /** To be called when all fields were asked for: what is left over is a mistake. */
  end(): void {
    for (const name of Object.keys(this.#object)) {
      if (this.#asked.has(name)) continue
      const meant = nearest(name, [...this.#asked])
      const hint = meant === undefined ? `the fields are ${[...this.#asked].join(", ")}` : `did you mean \`${meant}\`?`
      throw new ConfigurationError("config-field", `${this.#at(name)}: unknown field; ${hint}`)
    }
  }

  #take(name: string): unknown {
    this.#asked.add(name)
    return Object.hasOwn(this.#object, name) ? (this.#object[name] ?? undefined) : undefined
  }

  #at(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`
  }

  #wrong(name: string, wanted: string, value: unknown): ConfigurationError {
    const found = value === undefined ? "it is missing" : `it is ${JSON.stringify(value)?.slice(0, 80)}`
    return new ConfigurationError("config-value", `${this.#at(name)}: ${wanted}; ${found}`)
  }
}
