// SPDX-License-Identifier: Apache-2.0
// Services: each gets unique addresses and ports, even if several servers write Services, and keeps them.

import { invalidError } from "../../meta/status.js"
import { asArray, asObject, asString, clone, dig, equal, isObject } from "../../value.js"
import type { Behaviour } from "../behaviour.js"
import { addressesOf, allocateAddresses, normalizeAddresses } from "../service-addresses.js"

/** This key is written whenever the addresses of a Service change. */
const ADDRESSES = "/registry/ranges/serviceaddresses"

export const service: Behaviour = {
  metaThroughStatus: true,
  selectable: ["spec.clusterIP", "spec.type"],
  prepareUpdate(object, old) {
    const spec = asObject(object.spec)
    const before = asObject(old.spec)
    if (spec.type !== "ExternalName" && before.type !== "ExternalName")
      for (const key of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"])
        if (spec[key] === undefined && before[key] !== undefined) spec[key] = clone(before[key] ?? null)
    if (spec.type === before.type && (spec.type === "NodePort" || spec.type === "LoadBalancer")) {
      const olds = asArray(before.ports).map(asObject)
      for (const port of asArray(spec.ports).map(asObject)) {
        const same = olds.find(other => other.port === port.port && other.protocol === port.protocol)
        if (isObject(port) && port.nodePort === undefined && same?.nodePort !== undefined) port.nodePort = same.nodePort
      }
    }
  },
  normalize: object => normalizeAddresses(asObject(object.spec)),
  async allocate({ object, key, prefix, store }) {
    // INVARIANT: this key is read before the Services, so that a writer that takes an address after this read changes
    // its revision.
    const range = await store.get(ADDRESSES)
    const { entries } = await store.range({ prefix })
    const errors = allocateAddresses(object, key, entries, Math.random)
    if (errors.length > 0)
      throw invalidError({ group: "", resource: "Service" }, asString(dig(object, "metadata", "name")), errors)
    const old = entries.find(entry => entry.key === key)?.object
    if (equal(addressesOf(object), addressesOf(old))) return { compares: [], writes: [] }
    return {
      compares: [{ key: ADDRESSES, modRevision: range?.modRevision ?? 0 }],
      writes: [{ key: ADDRESSES, value: "{}" }],
    }
  },
}
