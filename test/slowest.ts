// SPDX-License-Identifier: Apache-2.0
// The files that take longest, and why. They start first: one that started last would keep a single core busy while the
// others have nothing left to do. CONTRIBUTING.md shows the same list.

import { relative } from "node:path"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Longest first. */
export const SLOWEST: Readonly<Record<string, string>> = {
  "test/docs/programs.test.ts":
    "every command and program of every page, on the meshes that the pages start, and the README's in a fresh clone",
  "test/release/artefacts.test.ts":
    "makes packages and an executable as a release does, installs them and runs a mesh from them",
  "test/console/own-mesh.test.ts":
    "pages beside their pictures, a mesh that goes away and comes back under a browser's eyes, and a thousand workloads",
  "test/resilience/clocks.test.ts":
    "clocks that are set while everything runs, each until everything has found its way back by itself",
  "test/resilience/control-planes-on-etcd.test.ts":
    "two control planes, three members of etcd and a balancer; each is killed while policies are written",
  "test/mission/mission.test.ts":
    "the mission on a local mesh of real processes, each step typed as a person would, and again while parts of it are away",
  "test/mission/another-mesh.test.ts": "the same again under another name, with kubectl",
  "test/e2e/cli/merlonctl.test.ts": "each command twice, by merlonctl and by kubectl, and both compared",
  "test/e2e/local/answers.test.ts":
    "what a mesh says of itself, from calls that have to be counted to proofs that have to be found, and ten walks of a user",
  "packages/cluster/src/oracle.test.ts":
    "hundreds of recorded cases of kube-apiserver, among them watches that last seconds",
  "packages/cluster/src/kubectl.test.ts": "a process of kubectl for each thing that people do with it",
  "packages/xds/src/server/workers/stream-workers.test.ts":
    "a process that is stuck, until it counts as one, and its successor",
  "packages/xserver/src/process/worker-pool.test.ts":
    "workers that die and one that is stuck, each until another serves",
  "packages/cluster/src/store/etcd/open.test.ts": "an etcd that goes away and comes back under readers and watchers",
  "packages/cluster/src/store-away.test.ts": "an API server that asks its etcd in vain until it says so",
  "test/e2e/control/replicas.test.ts": "replicas that are killed, each until the Lease of the dead one is taken away",
  "test/e2e/control/one-mesh.test.ts": "waits the half minute after which a proxy is overdue, and connects two hundred",
  "test/e2e/xserver-bodies.test.ts": "bodies of every size in every framing through real proxies, many callers at once",
  "test/resilience/cluster-crash.test.ts": "kills API servers again and again while clients write, on each store",
  "test/e2e/control/operations.test.ts": "starts and ends control planes with every kind of flag and fault",
  "test/resilience/control-rotation.test.ts":
    "a root is replaced while workloads call each other, phase by phase with real proxies",
  "test/e2e/control/control-plane.test.ts": "whole control planes, from their first start to a policy in force",
  "test/resilience/control-renewal.test.ts": "certificates live for seconds, and the test for several of them",
  "packages/xserver/src/http2/h2spec.test.ts": "every case of h2spec, each of which waits for what must not come",
  "test/resilience/control-cluster-away.test.ts": "keeps the API server away for longer than its clients wait",
  "test/resilience/control-restart.test.ts": "restarts the control plane again and again under changes",
  "test/e2e/local/local-mesh.test.ts": "starts, changes and ends whole local meshes",
  "test/e2e/local/joined.test.ts":
    "lets a second machine and programs of people's own into a mesh, and finds them again after a restart",
  "test/e2e/xclient-command.test.ts": "a mesh, and a process of xclient for each case",
  "test/e2e/control/foreign-xds-client.test.ts": "gRPC's own xDS client, a process for each case, through restarts",
}

/**
 * Projects in the order in which their other files run. Units come last, because they are many and short; the console after
 * systems, whose workers go on with their next file where they would end and begin again around it.
 */
const PROJECTS = ["systems", "console", "alone", "units"]

/**
 * What lasts longest first, then project by project: a worker that would next run a file of another project ends instead, and
 * its successor loads every module again.
 */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const known = Object.keys(SLOWEST)
    const place = ({ moduleId, project }: TestSpecification): number => {
      const slow = known.indexOf(relative(process.cwd(), moduleId).replaceAll("\\", "/"))
      if (slow !== -1 && project.name !== "units") return slow
      const block = known.length * (1 + 2 * PROJECTS.indexOf(project.name))
      return block + (slow === -1 ? known.length : slow)
    }
    // Sorting keeps the order of equals: the larger first, as Vitest has it.
    return (await super.sort(files)).sort((one, other) => place(one) - place(other))
  }
}
