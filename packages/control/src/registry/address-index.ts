// SPDX-License-Identifier: Apache-2.0
// Services and workloads by address. Several workloads can have the same address: programs on one machine share its
// address, and Kubernetes reuses the address of a deleted Pod.

interface Addressed {
  readonly addresses: readonly string[]
}

export class AddressIndex<T extends Addressed> {
  readonly #byAddress = new Map<string, Set<T>>()

  at(address: string): Iterable<T> {
    return this.#byAddress.get(address) ?? []
  }

  add(item: T): void {
    for (const address of item.addresses) {
      const items = this.#byAddress.get(address)
      if (items === undefined) this.#byAddress.set(address, new Set([item]))
      else items.add(item)
    }
  }

  delete(item: T): void {
    for (const address of item.addresses) {
      const items = this.#byAddress.get(address)
      items?.delete(item)
      if (items?.size === 0) this.#byAddress.delete(address)
    }
  }
}
