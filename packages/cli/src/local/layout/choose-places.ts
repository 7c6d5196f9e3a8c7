// SPDX-License-Identifier: Apache-2.0
// The addresses of the samples' instances. Each has its own loopback address, 127.N.0.i, so that its ports match the
// documentation. Another mesh uses another N. If the system has no such addresses, or a process listens on one of these
// ports at every address, other ports are used.

import { CommandError } from "../../ctl/exit.js"
import type { Place } from "../record/mesh-record.js"
import type { Look } from "./free-port.js"

export const USUAL: Required<Omit<Place, "address">> = {
  xserver: 15_080,
  admin: 15_000,
  health: 15_021,
  outbound: 15_001,
  application: 8_080,
}

export interface PlacesRequest {
  readonly count: number
  /** N, if the user requests one. */
  readonly block: number | undefined
  readonly remembered: readonly Place[]
}

export interface ChosenPlaces {
  readonly places: readonly Place[]
  readonly note: string | undefined
}

const LAST_BLOCK = 32
const MOST_TRIES = 500
const MOST_INSTANCES = 250
const LOOPBACK = "127.0.0.1"

export async function choosePlaces({ count, block, remembered }: PlacesRequest, look: Look): Promise<ChosenPlaces> {
  if (count === 0) return { places: [], note: undefined }
  const inBlock = (n: number): readonly Place[] =>
    Array.from({ length: count }, (_, index) => ({ address: `127.${n}.0.${index + 1}`, ...USUAL }))
  if (block !== undefined) {
    if (await allFree(inBlock(block), look)) return { places: inBlock(block), note: undefined }
    throw new CommandError(
      "port-unavailable",
      `addresses 127.${block}.0.x cannot be had; leave out \`--block\`, or choose another one`,
    )
  }
  // Fallback ports are not kept once the usual ones are free.
  const isUsual = remembered.length === count && remembered.every(hasUsualPorts)
  const before = remembered.map(place => ({ ...USUAL, ...place }))
  if (isUsual && (await allFree(before, look))) return { places: before, note: undefined }
  if ((await look("127.1.0.1", 0)) === "no such address") {
    const note = "this system has one loopback address only: proxies have ports of their own instead of 15080"
    return { places: await shifted(count, () => LOOPBACK, look), note }
  }
  for (let n = 1; n <= LAST_BLOCK; n++) {
    if (!(await allFree(inBlock(n), look))) continue
    const note = n === 1 ? undefined : `addresses 127.1.0.x are taken: the workloads are at 127.${n}.0.x`
    return { places: inBlock(n), note }
  }
  const note = "something listens on a port of the samples at every address: some of their ports are others"
  return { places: await shifted(count, index => `127.1.0.${index + 1}`, look), note }
}

/**
 * Chooses a place for one more instance besides the taken ones. `application` is the port of its program, if it has
 * one. `asked` is the N that the user requested.
 */
export async function choosePlace(
  taken: readonly Place[],
  application: number | undefined,
  look: Look,
  asked?: number,
): Promise<Place> {
  const block = String(asked ?? /^127\.(\d+)\.0\./.exec(taken[0]?.address ?? "")?.[1] ?? 1)
  if (application !== undefined && (await look("127.0.0.1", application)) === "not permitted") {
    throw new CommandError("port-unavailable", `port ${application} is not permitted; choose one from 1024 on`)
  }
  for (let index = 1; index <= MOST_INSTANCES; index++) {
    const address = `127.${block}.0.${index}`
    if (taken.some(place => place.address === address)) continue
    const place = { address, ...USUAL, application: application ?? USUAL.application }
    const { application: port, ...proxy } = place
    const wanted = application === undefined ? proxy : { ...proxy, port }
    const { address: _, ...ports } = wanted
    if (await areFree(address, Object.values(ports), look)) return place
  }
  const [shiftedPlace] = await shifted(1, () => (block === "1" ? LOOPBACK : `127.${block}.0.1`), look)
  if (shiftedPlace !== undefined && (application === undefined || shiftedPlace.application === application))
    return shiftedPlace
  throw new CommandError(
    "port-unavailable",
    `port ${application} is taken at every address of this machine; give the program another one with \`--port\`, or let it listen at the address that HOST names`,
  )
}

async function areFree(address: string, ports: readonly number[], look: Look): Promise<boolean> {
  for (const port of ports) if ((await look(address, port)) !== "free") return false
  return true
}

function hasUsualPorts({ xserver, application }: Place): boolean {
  return xserver === USUAL.xserver && application === USUAL.application
}

async function allFree(places: readonly Place[], look: Look): Promise<boolean> {
  for (const { address, ...ports } of places) if (!(await areFree(address, Object.values(ports), look))) return false
  return true
}

/** The usual port of each kind, or the next free one that no other instance has. */
async function shifted(count: number, addressOf: (index: number) => string, look: Look): Promise<readonly Place[]> {
  const used = new Set<string>()
  const next = async (address: string, from: number): Promise<number> => {
    for (let port = from; port < from + MOST_TRIES; port++) {
      if (used.has(`${address}:${port}`) || (await look(address, port)) !== "free") continue
      used.add(`${address}:${port}`)
      return port
    }
    throw new CommandError("port-unavailable", `there is no free port at ${address} from ${from} on`)
  }
  const places: Place[] = []
  for (let index = 0; index < count; index++) {
    const address = addressOf(index)
    places.push({
      address,
      xserver: await next(address, USUAL.xserver),
      admin: await next(address, USUAL.admin),
      health: await next(address, USUAL.health),
      outbound: await next(address, USUAL.outbound),
      application: await next(address, USUAL.application),
    })
  }
  return places
}
