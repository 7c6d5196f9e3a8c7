// SPDX-License-Identifier: Apache-2.0
// The destinations that workloads called, as counted by their own proxies. This includes calls that no other proxy
// observed, because they never arrived or went to a destination without a proxy. A proxy reports only for its own
// workload. The registry decides which workload is at a destination.

import { CALL_TRANSPORTS, type CalledDestination, type CallTransport } from "@merlon/xds"
import { listOf, objectOf, textOf } from "../registry/foreign.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import { type WorkloadNames, workloadName } from "./workload-names.js"

/** `mesh`: a host of the mesh. `cluster`: a Pod or Service without a proxy. `outside`: neither. */
const PLACES = ["mesh", "cluster", "outside"] as const

/** Calls to one destination over one transport, from all Pods of the workload that were queried. */
export interface WorkloadDestination extends Omit<CalledDestination, "inMesh" | "workload" | "firstSeen" | "lastSeen"> {
  /** `namespace/name` of the workload that called. */
  readonly workload: string
  readonly place: (typeof PLACES)[number]
  /** `namespace/name` of the called workload, if it is known. */
  readonly to?: string | undefined
  /** RFC 3339. */
  readonly firstSeen: string
  readonly lastSeen: string
}

export interface Registered {
  readonly names: WorkloadNames
  readonly directory: Pick<MeshDirectory, "workloads" | "at">
  readonly now: number
}

/** `proxy` is the `namespace/name` that the reporting proxy has proved. */
export function placedDestination(
  proxy: string,
  called: CalledDestination,
  registered: Registered,
): WorkloadDestination {
  const { names, directory, now } = registered
  const { inMesh, workload: tried, firstSeen, lastSeen, ...counts } = called
  const at = inMesh ? undefined : addressIn(called.destination)
  const { services, workloads } = at === undefined ? UNREGISTERED : directory.at(at)
  const [pod] = workloads
  // A Pod that the registry does not know is not named in the result.
  const known = tried === undefined ? undefined : directory.workloads.get(tried)
  const to = known === undefined ? at && names.at(at) : workloadName(known)
  const isInCluster = pod !== undefined || [...services].length > 0
  return {
    ...counts,
    workload: names.of(proxy),
    place: inMesh ? "mesh" : isInCluster ? "cluster" : "outside",
    ...(to === undefined ? {} : { to }),
    // Times from a clock that is ahead would sort first forever.
    firstSeen: timeOf(Math.min(firstSeen, now)),
    lastSeen: timeOf(Math.min(lastSeen, now)),
  }
}

const UNREGISTERED: ReturnType<MeshDirectory["at"]> = { services: [], workloads: [] }

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString()

/** The address in `address:port` or `[address]:port`. For a host name, it is one that the registry does not know. */
function addressIn(destination: string): string | undefined {
  const colon = destination.lastIndexOf(":")
  return colon < 1 ? undefined : destination.slice(0, colon).replace(/^\[(.*)\]$/, "$1")
}

/** Merges what several Pods or replicas report: counts are added, and the last call gives the rest. Newest first. */
export function mergedDestinations(all: readonly WorkloadDestination[]): readonly WorkloadDestination[] {
  const merged = new Map<string, WorkloadDestination>()
  for (const one of all) {
    const key = `${one.workload} ${one.destination} ${one.transport}`
    const known = merged.get(key)
    merged.set(key, known === undefined ? one : together(known, one))
  }
  return [...merged.values()].sort((a, b) => b.lastSeen.localeCompare(a.lastSeen))
}

function together(a: WorkloadDestination, b: WorkloadDestination): WorkloadDestination {
  const [older, newer] = a.lastSeen < b.lastSeen ? [a, b] : [b, a]
  return {
    // A field that the newer call lacks, such as a failure, keeps the older call's value.
    ...older,
    ...Object.fromEntries(Object.entries(newer).filter(([, value]) => value !== undefined)),
    count: a.count + b.count,
    failures: a.failures + b.failures,
    firstSeen: [a.firstSeen, b.firstSeen].sort()[0] ?? a.firstSeen,
  }
}

/** Destinations as another replica wrote them; entries that this version cannot read are left out. */
export function readDestinations(value: unknown): readonly WorkloadDestination[] {
  return listOf(value).flatMap(one => {
    const { workload, destination, transport, place, count, failures, firstSeen, lastSeen, ...rest } = objectOf(one)
    const [from, where, first, last] = [textOf(workload), textOf(destination), textOf(firstSeen), textOf(lastSeen)]
    if (from === undefined || where === undefined || first === undefined || last === undefined) return []
    if (!isTransport(transport) || !isPlace(place) || typeof count !== "number" || typeof failures !== "number")
      return []
    const others: object = rest // written by a control plane
    return [
      {
        ...others,
        workload: from,
        destination: where,
        transport,
        place,
        count,
        failures,
        firstSeen: first,
        lastSeen: last,
      },
    ]
  })
}

const isTransport = (value: unknown): value is CallTransport => CALL_TRANSPORTS.some(one => one === value)
const isPlace = (value: unknown): value is WorkloadDestination["place"] => PLACES.some(one => one === value)
