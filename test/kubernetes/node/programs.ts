// SPDX-License-Identifier: Apache-2.0
// The programs of a Kubernetes node, and which of them are missing on this machine.

import { accessSync, constants, existsSync } from "node:fs"
import { homedir } from "node:os"
import { delimiter, join } from "node:path"

/** Built by scripts/test-kubernetes-programs.sh. */
export const PROGRAMS_FOLDER = process.env.MERLON_KUBERNETES_BIN ?? join(homedir(), ".cache/merlon-kubernetes/bin")
const BUILT = [
  "kubectl",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "helm",
  "coredns",
]
/**
 * Debian packages: etcd-server containerd runc containernetworking-plugins iproute2 util-linux openssl nftables
 * conntrack.
 */
const INSTALLED = ["etcd", "containerd", "ctr", "runc", "ip", "nsenter", "openssl", "nft", "conntrack", "mount"]
export const CNI_FOLDER = "/usr/lib/cni"

export function program(name: string): string {
  return join(PROGRAMS_FOLDER, name)
}

/** Describes the missing programs for the developer; empty if nothing is missing. */
export function whatIsMissing(): readonly string[] {
  const missing: string[] = []
  const built = BUILT.filter(name => !isProgram(program(name)))
  if (built.length > 0) {
    missing.push(`${built.join(", ")} in ${PROGRAMS_FOLDER} (scripts/test-kubernetes-programs.sh builds them)`)
  }
  const folders = (process.env.PATH ?? "").split(delimiter)
  const installed = INSTALLED.filter(name => !folders.some(folder => isProgram(join(folder, name))))
  if (installed.length > 0) missing.push(`${installed.join(", ")} on the path`)
  if (!existsSync(join(CNI_FOLDER, "bridge"))) missing.push(`the plugins of the container network in ${CNI_FOLDER}`)
  if (process.getuid?.() !== 0) missing.push("root: namespaces and cgroups are the machine's")
  return missing
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
