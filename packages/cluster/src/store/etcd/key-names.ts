// SPDX-License-Identifier: Apache-2.0
// The layout of keys in etcd: documents under `<prefix>/data`, beside them the format marker and a key that is only
// written so that the watch sees the change. A single range, and so a single watch, covers all of them.

import { compareKeys } from "../key-order.js"

export class KeyNames {
  readonly format: string
  readonly tick: string
  readonly all: { key: string; rangeEnd: string }
  readonly #data: string

  constructor(prefix: string) {
    const root = prefix.replace(/\/+$/, "")
    this.format = `${root}/format`
    this.tick = `${root}/tick`
    this.#data = `${root}/data`
    this.all = { key: `${root}/`, rangeEnd: afterPrefix(`${root}/`) }
  }

  toEtcd(key: string): string {
    return this.#data + key
  }

  /** Returns undefined for a key that is not a document. */
  fromEtcd(name: string): string | undefined {
    return name.startsWith(this.#data) ? name.slice(this.#data.length) : undefined
  }

  range(prefix: string, after: string | undefined): { key: string; rangeEnd: string } {
    const start = this.toEtcd(prefix)
    const rangeEnd = afterPrefix(start)
    if (after === undefined || compareKeys(after, prefix) < 0) return { key: start, rangeEnd }
    return { key: `${this.toEtcd(after)}\0`, rangeEnd }
  }
}

/** The first key after all keys with the prefix. Prefixes end in ASCII, so the last character can be incremented. */
function afterPrefix(prefix: string): string {
  const last = prefix.length - 1
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1)
}
