// SPDX-License-Identifier: Apache-2.0
// Decides all listening addresses before anything starts: the requested, previous, usual, or a free port.

import type { ControlPlanePorts, IngressPortRecord, MeshRecord, WorkloadRecord } from "../record/mesh-record.js"
import { choosePlaces } from "./choose-places.js"
import { choosePort, type PortRequest } from "./choose-port.js"
import type { Look } from "./free-port.js"
import { type SampleInstance, SERVICES, sampleInstances } from "./samples.js"

export const LOOPBACK = "127.0.0.1"

export interface LayoutRequest {
  readonly samples: boolean
  /** Whether the samples include the shop. */
  readonly shop: boolean
  readonly apiPort?: number
  readonly meshPort?: number
  /** The address where proxies listen. Loopback by default. */
  readonly meshListen?: string
  readonly webhookPort?: number
  readonly healthPort?: number
  readonly consolePort?: number
  readonly block?: number
  /** Ingress ports by service. */
  readonly expose: ReadonlyMap<string, number>
}

export interface Layout {
  readonly ports: ControlPlanePorts
  readonly instances: readonly SampleInstance[]
  readonly workloads: readonly WorkloadRecord[]
  readonly ingressPorts: readonly IngressPortRecord[]
  /** Fallback ports for usual ones that are taken. */
  readonly fallbackPorts: readonly number[]
  /** Notes for the user about unexpected ports. */
  readonly notes: readonly string[]
}

export async function chooseLayout(
  request: LayoutRequest,
  before: MeshRecord | undefined,
  look: Look,
): Promise<Layout> {
  const used = new Set<number>()
  const notes: string[] = []
  const fallbackPorts: number[] = []
  const choose = async (request: PortRequest): Promise<number> => {
    const wasFallback = before?.fallbackPorts?.includes(request.remembered ?? 0) ?? false
    const { port, note, isFallback } = await choosePort({ wasFallback, ...request }, LOOPBACK, look, used)
    if (note !== undefined) notes.push(note)
    if (isFallback) fallbackPorts.push(port)
    return port
  }
  const { apiPort, meshPort, webhookPort, healthPort, consolePort } = request
  const had = before?.ports
  const ports = {
    api: await choose({ what: "the API", asked: apiPort, remembered: had?.api, usual: 7_443 }),
    mesh: await choose({
      what: "the proxies' stream",
      asked: meshPort,
      remembered: had?.mesh,
      usual: 15_012,
      // Joined machines know this port. They could not follow a change back to the usual one.
      ...(request.meshListen === undefined ? {} : { wasFallback: false }),
    }),
    webhook: await choose({ what: "admission", asked: webhookPort, remembered: had?.webhook, usual: 15_017 }),
    health: await choose({ what: "health", asked: healthPort, remembered: had?.health, usual: 15_014 }),
    console: await choose({ what: "the console", asked: consolePort, remembered: had?.console, usual: 7_080 }),
  }
  if (!request.samples) return { ports, instances: [], workloads: [], ingressPorts: [], fallbackPorts, notes }
  const remembered = (before?.workloads ?? []).map(({ place }) => place)
  const instances = sampleInstances(request)
  const { places, note } = await choosePlaces({ count: instances.length, block: request.block, remembered }, look)
  if (note !== undefined) notes.push(note)
  const workloads = instances.flatMap(({ namespace, name, serviceAccount, application }, index) => {
    const place = places[index]
    return place === undefined
      ? []
      : [{ namespace, name, serviceAccount, serves: application.kind === "server", place }]
  })
  const ingressPorts: IngressPortRecord[] = []
  for (const { namespace, name, port: usual, otherwise } of SERVICES) {
    const service = `${name}.${namespace}`
    const port = await choose({
      what: service,
      asked: request.expose.get(service),
      remembered: before?.ingressPorts.find(ingress => ingress.service === service)?.port,
      usual,
      otherwise,
    })
    ingressPorts.push({ service, port })
  }
  return { ports, instances, workloads, ingressPorts, fallbackPorts, notes }
}
