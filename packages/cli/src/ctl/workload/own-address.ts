// SPDX-License-Identifier: Apache-2.0
// The address of a workload's proxy on this machine: a loopback address of its own, so that any number of proxies run
// side by side with the usual ports. It is derived from the workload's name, so users need not remember it.

import { createHash } from "node:crypto"
import type { ProxyPlace } from "./bootstrap-files.js"

const ADMIN_PORT = 15_000
const HEALTH_PORT = 15_021

/** Lower blocks belong to local meshes; all of them use the first one. */
const FIRST_BLOCK = 64
const BLOCKS = 128

export function ownAddress(uid: string): string {
  const [a = 0, b = 0, c = 0] = createHash("sha256").update(uid).digest()
  return `127.${FIRST_BLOCK + (a % BLOCKS)}.${b}.${1 + (c % 254)}`
}

/** Only if the control plane is on this machine, the system has such addresses, and the user chose no other. */
export function ownPlace(place: ProxyPlace, uid: string, platform = process.platform): ProxyPlace {
  const isHere = /^(localhost|127\.[\d.]+|\[?::1\]?):\d+$/.test(place.controlPlane)
  if (!isHere || platform !== "linux" || place.address !== undefined || place.listen !== undefined) return place
  const address = ownAddress(uid)
  return { ...place, address, listen: address, admin: `${address}:${ADMIN_PORT}`, health: `${address}:${HEALTH_PORT}` }
}
