// SPDX-License-Identifier: Apache-2.0
// The cluster API over HTTPS: writes, lists of many objects, watch fan-out and memory per watcher, for our server on
// both stores and for kube-apiserver if KUBEBUILDER_ASSETS is set. CPU includes the server and its etcd. Rates depend
// on the machine and on the client, which shares it, so compare CPU and ratios of one run.
// Flags: --json, --objects N, --watchers N.

import { parseArgs } from "node:util"
import { cpuMicroseconds, residentKilobytes } from "./cluster/process-cost.js"
import type { Target } from "./cluster/targets.js"
import { targets } from "./cluster/targets.js"
import { ratio, table } from "./measure.js"

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    objects: { type: "string", default: "10000" },
    watchers: { type: "string", default: "1000" },
  },
})
const OBJECTS = Number(values.objects)
const WATCHERS = Number(values.watchers)
const VALUE_BYTES = 500
const WRITERS = 32
const WARM_UP = Math.min(500, OBJECTS / 2)
const LISTS = 5
const CHANGES = 50

interface Writes {
  writesPerSecond: number
  cpuPerWriteUs: number
}

interface Lists {
  listMs: number
  listMegabytes: number
  cpuPerListMs: number
}

interface FanOut {
  fanOutMs: number
  deliveriesPerSecond: number
  cpuPerDeliveryUs: number
  kilobytesPerWatcher: number
}

type Result = Writes & Lists & FanOut

async function fill({ load }: Target, from: number, to: number): Promise<void> {
  let next = from
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (next < to) await load.create(`bench-${String(next++).padStart(6, "0")}`, VALUE_BYTES)
    }),
  )
}

async function writes(target: Target): Promise<Writes> {
  const cost = meter(target.pids)
  await fill(target, WARM_UP, OBJECTS)
  const { seconds, cpuUs } = cost()
  const count = OBJECTS - WARM_UP
  return { writesPerSecond: Math.round(count / seconds), cpuPerWriteUs: Math.round(cpuUs / count) }
}

async function lists({ load, pids }: Target): Promise<Lists> {
  let bytes = await load.list(OBJECTS)
  const cost = meter(pids)
  for (let i = 0; i < LISTS; i++) bytes = await load.list(OBJECTS)
  const { seconds, cpuUs } = cost()
  return {
    listMs: Math.round((seconds * 1_000) / LISTS),
    listMegabytes: Number((bytes / 1e6).toFixed(1)),
    cpuPerListMs: Math.round(cpuUs / 1_000 / LISTS),
  }
}

async function fanOut(target: Target): Promise<FanOut> {
  const { load, pids, server } = target
  await target.settle()
  const before = residentKilobytes(server)
  const watchers = await load.watch(WATCHERS)
  await target.settle()
  const kilobytesPerWatcher = Number(((residentKilobytes(server) - before) / WATCHERS).toFixed(1))
  const cost = meter(pids)
  for (let i = 0; i < CHANGES; i++) await load.create(`change-${i}`, VALUE_BYTES)
  while (watchers.received() < WATCHERS * CHANGES) await new Promise(resolve => setImmediate(resolve))
  const { seconds, cpuUs } = cost()
  watchers.close()
  const deliveries = WATCHERS * CHANGES
  return {
    fanOutMs: Math.round((seconds * 1_000) / CHANGES),
    deliveriesPerSecond: Math.round(deliveries / seconds),
    cpuPerDeliveryUs: Number((cpuUs / deliveries).toFixed(2)),
    kilobytesPerWatcher,
  }
}

function meter(pids: readonly number[]): () => { seconds: number; cpuUs: number } {
  const started = performance.now()
  const used = cpuMicroseconds(pids)
  return () => ({ seconds: (performance.now() - started) / 1_000, cpuUs: cpuMicroseconds(pids) - used })
}

const results = new Map<string, Result>()
for await (const target of targets()) {
  try {
    if (!values.json) console.log(`measuring ${target.name}`)
    await fill(target, 0, WARM_UP)
    // Watchers come first: later, their memory would be hidden in space that garbage left behind.
    const fanned = await fanOut(target)
    results.set(target.name, { ...(await writes(target)), ...(await lists(target)), ...fanned })
  } finally {
    await target.stop()
  }
}

/** The ratio of costs, in CPU, which other load on the machine does not affect much. */
function costRatio(name: string, to: string): Record<string, number> | undefined {
  const [one, other] = [results.get(name), results.get(to)]
  if (one === undefined || other === undefined) return undefined
  return {
    write: ratio(one.cpuPerWriteUs, other.cpuPerWriteUs),
    list: ratio(one.cpuPerListMs, other.cpuPerListMs),
    delivery: ratio(one.cpuPerDeliveryUs, other.cpuPerDeliveryUs),
    watcherMemory: ratio(one.kilobytesPerWatcher, other.kilobytesPerWatcher),
  }
}

const ratios = {
  etcdToEmbedded: costRatio("etcd", "embedded"),
  embeddedToKubernetes: costRatio("embedded", "kube-apiserver"),
  etcdToKubernetes: costRatio("etcd", "kube-apiserver"),
}

if (values.json) {
  console.log(JSON.stringify({ objects: OBJECTS, watchers: WATCHERS, results: Object.fromEntries(results), ratios }))
} else {
  console.log(`\n${OBJECTS} objects of ${VALUE_BYTES} bytes, ${WRITERS} writers, ${WATCHERS} watchers\n`)
  console.log(
    table(
      [
        "store",
        "writes/s",
        "µs CPU/write",
        "list ms",
        "MB",
        "ms CPU/list",
        "fan-out ms",
        "deliveries/s",
        "µs CPU/delivery",
        "kB/watcher",
      ],
      [...results].map(([name, r]) => [
        name,
        ...[r.writesPerSecond, r.cpuPerWriteUs, r.listMs, r.listMegabytes, r.cpuPerListMs],
        ...[r.fanOutMs, r.deliveriesPerSecond, r.cpuPerDeliveryUs, r.kilobytesPerWatcher],
      ]),
    ),
  )
  for (const [name, costs] of Object.entries(ratios))
    if (costs !== undefined) console.log(`\n${name}: ${JSON.stringify(costs)}`)
}
