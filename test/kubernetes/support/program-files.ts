// SPDX-License-Identifier: Apache-2.0
// Programs of this machine for Pods of its own node, which shares the machine's files: Debian's files in /usr, Node and
// packages of node_modules, grpcurl, and a Go program that is built here.

import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import { findProgram, postgresFolder } from "../../runner/programs.js"
import { answering } from "./cluster.js"

const HERE = "test/kubernetes/programs"
const BUILT = resolve(".cache/programs")

/** The paths of the programs in the Pods. */
export const NODE = "/node"
export const MODULES = "/node_modules"
export const GO_PROGRAM = "/programs/ordinary"
export const GRPCURL = "/grpcurl"
export const PYTHON = "/usr/bin/python3"
export const postgres = (name: string): string => `${postgresFolder()}/${name}`

/** Linked statically, so that it runs in any image. */
export function buildGoProgram(): void {
  mkdirSync(BUILT, { recursive: true })
  const env = { ...process.env, CGO_ENABLED: "0" }
  execFileSync("go", ["build", "-C", HERE, "-o", `${BUILT}/ordinary`, "."], {
    env,
    stdio: ["ignore", "inherit", "inherit"],
  })
}

function mounts(): readonly { readonly path: string; readonly mountPath: string }[] {
  const grpcurl = findProgram("grpcurl")
  return [
    { path: "/usr", mountPath: "/usr" },
    { path: "/etc/passwd", mountPath: "/etc/passwd" },
    { path: realpathSync(process.execPath), mountPath: NODE },
    { path: resolve("node_modules"), mountPath: MODULES },
    ...(existsSync(BUILT) ? [{ path: BUILT, mountPath: "/programs" }] : []),
    ...(grpcurl === undefined ? [] : [{ path: realpathSync(grpcurl), mountPath: GRPCURL }]),
  ]
}

/** The fields of a Pod whose containers run programs of this machine, as a user that has a name on it. */
export function withPrograms(...containers: readonly object[]): object {
  const files = mounts().map((mount, index) => ({ ...mount, name: `files-${index}` }))
  const volumeMounts = [
    ...files.map(({ name, mountPath }) => ({ name, mountPath, readOnly: true })),
    { name: "data", mountPath: "/data" },
  ]
  return {
    terminationGracePeriodSeconds: 2,
    containers: containers.map(fields =>
      answering({ ports: [], securityContext: { runAsUser: 65_534 }, volumeMounts, ...fields }),
    ),
    volumes: [...files.map(({ name, path }) => ({ name, hostPath: { path } })), { name: "data", emptyDir: {} }],
  }
}
