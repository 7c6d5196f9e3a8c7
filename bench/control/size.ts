// SPDX-License-Identifier: Apache-2.0
// One size of fleet from an empty cluster to its figures: build, connect, change, restart.

import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cpuMicroseconds, residentKilobytes } from "../cluster/process-cost.js"
import { Api } from "./api.js"
import { type ChangeFigures, Changes } from "./changes.js"
import { Fleet } from "./fleet.js"
import { ALL, build, isTheOne, ONE, trustBundle } from "./mesh-contents.js"
import { monotonicMs } from "./messages.js"
import { MERLOND, Program } from "./servers.js"

/** This build, or the one that it is compared with. */
export type Build = "this" | "baseline"

export interface SizeFigures {
  readonly build: Build
  readonly proxies: number
  /** Load of the machine when this size began: if it is high, wall times mean little. */
  readonly load: number
  readonly all: ChangeFigures
  readonly one: ChangeFigures
  readonly kilobytesPerProxy: number
  readonly peakMegabytes: number
  readonly connect: ConnectFigures
  readonly restart: ConnectFigures
}

interface ConnectFigures {
  /** From opening the port, or starting the fleet, to the last proxy served. */
  readonly seconds: number
  readonly cpuPerProxyMs: number
  readonly attemptsPerProxy: number
}

/** The comparison at admission runs once per change, whichever proxies it is for, and much code runs once in it. */
const CHANGES_TO_WARM_UP = 100
/** Pushes per proxy before the measurement; after ten, V8's compiler still took a tenth of the CPU. */
const PUSHES_TO_WARM_UP = 40

export interface SizeOrder {
  /** The control plane that is measured; the cluster and the proxies are always this build's. */
  readonly build: Build
  readonly merlond: string
  readonly count: number
  readonly changes: number
  /** Folder for a CPU profile of each run of the control plane. */
  readonly profile: string | undefined
  /** Called with each figure as soon as it is known: large sizes take minutes. */
  readonly notify: (what: string, figures: unknown) => void
}

export async function measureSize(order: SizeOrder): Promise<Omit<SizeFigures, "load">> {
  const { build: which, merlond, count, changes, profile, notify: report } = order
  const folder = mkdtempSync(join(tmpdir(), "merlon-bench-"))
  const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    const cluster = await Program.start(MERLOND, ["cluster", "--data", folder, "--port", "0"], /KUBECONFIG/)
    closers.push(() => cluster.stop())
    const url = /serving (\S+)/.exec(cluster.output)?.[1] ?? ""
    const kubeconfig = /KUBECONFIG=(\S+)/.exec(cluster.output)?.[1] ?? ""
    const api = new Api(url, kubeconfig)
    closers.push(() => api.close())
    const serving = { merlond, kubeconfig, profile }
    let control = await serve(serving, 0)
    closers.push(() => control.program.stop())
    const proxies = await build(api, count)
    const bundle = await trustBundle(api)

    const fleet = await Fleet.start(proxies)
    closers.push(() => fleet.close())
    await fleet.count()
    const { port, program } = control
    const enter = (from: number, to: number): Promise<ConnectFigures> =>
      connecting(fleet, program, count * (to - from), () => {
        fleet.connect(`127.0.0.1:${port}`, bundle, from, to)
        return fleet.served({ anew: false })
      })
    // The first half fills memory that building the town left free, whose amount varies between runs by more than half
    // of the proxies need.
    const firstHalf = await enter(0, 0.5)
    const before = await settled(program, count / 2)
    const secondHalf = await enter(0.5, 1)
    const kilobytesPerProxy = Number((((await settled(program, count)) - before) / (count / 2)).toFixed(1))
    const connect = both(firstHalf, secondHalf)

    report("connected", { ...connect, kilobytesPerProxy })

    const watcher = await Changes.watch(api)
    const round = { fleet, server: [control.program.pid], rounds: changes }
    const one = await watcher.measure({ ...round, warmUp: CHANGES_TO_WARM_UP, policy: ONE, touches: isTheOne })
    report("one", one)
    const all = await watcher.measure({ ...round, warmUp: PUSHES_TO_WARM_UP, policy: ALL, touches: () => true })
    report("all", all)
    const peakMegabytes = Math.round(peakKilobytes(control.program.pid) / 1_000)

    await control.program.stop()
    const served = fleet.served({ anew: true })
    control = await serve(serving, port)
    const restart = await connecting(fleet, control.program, count, () => served)
    report("restarted", restart)
    return { build: which, proxies: count, all, one, kilobytesPerProxy, peakMegabytes, connect, restart }
  } finally {
    for (const close of closers.reverse()) await close()
  }
}

async function serve(
  { merlond, kubeconfig, profile }: Pick<SizeOrder, "merlond" | "profile"> & { readonly kubeconfig: string },
  meshPort: number,
): Promise<{ readonly program: Program; readonly port: number }> {
  const ports = ["--mesh-port", String(meshPort), "--webhook-port", "0", "--health-port", "0"]
  const flags = profile === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", profile]
  const program = await Program.start(
    merlond,
    // The same name after a restart, as with a service manager, so that the replica names recorded for Pods stay valid.
    ["serve", "--kubeconfig", kubeconfig, "--replica", "bench", "--log-level", "error", ...ports],
    /proxies/,
    flags,
  )
  return { program, port: Number(/proxies\s+:(\d+)/.exec(program.output)?.[1]) }
}

/** `begin` resolves to the time at which the last proxy was served. */
async function connecting(
  fleet: Fleet,
  program: Program,
  count: number,
  begin: () => Promise<number>,
): Promise<ConnectFigures> {
  const cpu = cpuMicroseconds([program.pid])
  const { attempts } = await fleet.count()
  const started = monotonicMs()
  const at = await begin()
  // Consequences of connecting, such as status writes, are part of the cost.
  await program.quiet(count)
  return {
    seconds: Number(((at - started) / 1_000).toFixed(2)),
    cpuPerProxyMs: Number(((cpuMicroseconds([program.pid]) - cpu) / 1_000 / count).toFixed(2)),
    attemptsPerProxy: Number((((await fleet.count()).attempts - attempts) / count).toFixed(1)),
  }
}

function both(first: ConnectFigures, second: ConnectFigures): ConnectFigures {
  return {
    seconds: Number((first.seconds + second.seconds).toFixed(2)),
    cpuPerProxyMs: Number(((first.cpuPerProxyMs + second.cpuPerProxyMs) / 2).toFixed(2)),
    attemptsPerProxy: Number(((first.attemptsPerProxy + second.attemptsPerProxy) / 2).toFixed(1)),
  }
}

async function settled(program: Program, connected: number): Promise<number> {
  await program.quiet(connected)
  await program.collectGarbage()
  return residentKilobytes(program.pid)
}

function peakKilobytes(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1])
}
