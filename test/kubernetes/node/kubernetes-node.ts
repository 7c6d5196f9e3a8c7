// SPDX-License-Identifier: Apache-2.0
// A complete Kubernetes node on this machine: etcd, API server, controllers, scheduler, kubelet with containerd,
// kube-proxy and DNS, in its own network namespace. `stop` ends it and removes everything.

import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { arch, tmpdir } from "node:os"
import { join } from "node:path"
import {
  apiServerArguments,
  containerdConfiguration,
  dnsConfiguration,
  kubeletConfiguration,
  type Layout,
  networkConfiguration,
  proxyConfiguration,
} from "./configuration.js"
import { writeCredentials } from "./credentials.js"
import { PAUSE_IMAGE, pauseImage } from "./pause-image.js"
import { program } from "./programs.js"

const ETCD = 22_379
const PATIENCE_MS = 300_000
const LOOK_AGAIN_MS = 250
export const ARCHITECTURE = arch() === "arm64" ? "arm64" : "amd64"

export class KubernetesNode {
  readonly kubeconfig: string
  readonly #layout: Layout
  readonly #namespace = `merlon-node-${process.pid}`
  readonly #processes = new Map<string, ChildProcess>()

  private constructor() {
    const folder = mkdtempSync(join(tmpdir(), "merlon-node-"))
    const state = `/run/merlon-node-${process.pid}`
    this.#layout = {
      folder,
      // Pods have separate address blocks, as on most clusters: proxies treat a block with many STRICT Pods as a whole.
      ipv4: {
        address: "10.88.0.1",
        pods: "10.88.0.0/23",
        firstPod: "10.88.1.10",
        services: "10.0.0.0/24",
        everywhere: "0.0.0.0/0",
      },
      ipv6: {
        address: "fd88::1",
        pods: "fd88::/63",
        firstPod: "fd88:0:0:1::10",
        services: "fd10::/112",
        everywhere: "::/0",
      },
      apiPort: 26_443,
      containerd: { state, socket: `${state}/containerd.sock` },
      pauseImage: PAUSE_IMAGE,
    }
    this.kubeconfig = join(folder, "kubeconfig")
  }

  /** Starts a node with these image archives. If a step fails, everything that was started is stopped. */
  static async start(images: readonly string[]): Promise<KubernetesNode> {
    const node = new KubernetesNode()
    try {
      await node.#start(images)
      return node
    } catch (error) {
      await node.stop()
      throw error
    }
  }

  /** The command prefix that runs a command in the node's network. */
  get inside(): readonly string[] {
    return ["nsenter", `--net=/run/netns/${this.#namespace}`]
  }

  /**
   * The file with the process id of the kubelet. The kubelet is restarted when it dies, unless there is a file of the
   * same name with `.down`.
   */
  get kubelet(): string {
    return join(this.#layout.folder, "kubelet.pid")
  }

  async stop(): Promise<void> {
    // The kubelet is stopped first, because it would restart its Pods.
    await this.#end("kubelet")
    const networks = this.#endContainers()
    for (const name of [...this.#processes.keys()].reverse()) await this.#end(name)
    for (const path of mountsBelow([this.#layout.folder, this.#layout.containerd.state])) quietly("umount", "-l", path)
    for (const name of [...networks, this.#namespace]) quietly("ip", "netns", "delete", name)
    rmSync(this.#layout.folder, { recursive: true, force: true })
    rmSync(this.#layout.containerd.state, { recursive: true, force: true })
  }

  async #start(images: readonly string[]): Promise<void> {
    const { folder, ipv4, ipv6, apiPort } = this.#layout
    this.#makeNetwork()
    const server = `https://127.0.0.1:${apiPort}`
    writeCredentials({ folder, server, addresses: ["127.0.0.1", "10.0.0.1", ipv4.address] })
    this.#writeConfiguration()
    this.#spawn("containerd", ["containerd", "-c", join(folder, "containerd.toml")])
    this.#spawn("etcd", [
      ...["etcd", "--data-dir", join(folder, "etcd"), "--unsafe-no-fsync", "--log-level", "warn"],
      ...["--listen-client-urls", `http://127.0.0.1:${ETCD}`, "--advertise-client-urls", `http://127.0.0.1:${ETCD}`],
      ...["--listen-peer-urls", `http://127.0.0.1:${ETCD + 1}`],
    ])
    this.#spawn("kube-apiserver", [
      program("kube-apiserver"),
      ...apiServerArguments(this.#layout, `http://127.0.0.1:${ETCD}`),
    ])
    await until("containerd answers", () => this.#ctr("version"))
    const pause = join(folder, "pause.tar")
    writeFileSync(pause, pauseImage(ARCHITECTURE).archive)
    for (const archive of [pause, ...images]) this.#ctr("images", "import", archive)
    await until("the API server is ready", () => this.kubectl("get", "--raw", "/readyz"))
    const controller = (kubeconfig: string) => [`--kubeconfig=${kubeconfig}`, "--leader-elect=false", "--secure-port=0"]
    // Each controller has its own account, as in real clusters, so that the deletion of a namespace's objects is
    // attributed to its controller.
    this.#spawn("kube-controller-manager", [
      program("kube-controller-manager"),
      ...controller(join(folder, "controllers.kubeconfig")),
      "--use-service-account-credentials=true",
      `--service-account-private-key-file=${folder}/accounts.key`,
      `--root-ca-file=${folder}/ca.crt`,
    ])
    this.#spawn("kube-scheduler", [program("kube-scheduler"), ...controller(this.kubeconfig)])
    this.#keep("kubelet", this.kubelet, [
      program("kubelet"),
      `--kubeconfig=${folder}/kubelet.kubeconfig`,
      `--config=${folder}/kubelet.json`,
      `--root-dir=${folder}/kubelet`,
      "--hostname-override=node1",
      `--node-ip=${ipv4.address},${ipv6.address}`,
    ])
    this.#spawn("kube-proxy", [program("kube-proxy"), `--config=${folder}/kube-proxy.json`])
    this.#spawn("coredns", [program("coredns"), "-conf", join(folder, "Corefile")])
    await until("the node is ready", () => {
      const ready = '{.status.conditions[?(@.type=="Ready")].status}'
      if (this.kubectl("get", "node", "node1", "-o", `jsonpath=${ready}`) !== "True") throw new Error("not yet")
    })
  }

  kubectl(...args: string[]): string {
    const [command = "", ...before] = this.inside
    return execFileSync(command, [...before, program("kubectl"), "--kubeconfig", this.kubeconfig, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    }).toString()
  }

  #makeNetwork(): void {
    const { ipv4, ipv6 } = this.#layout
    execFileSync("ip", ["netns", "add", this.#namespace])
    const run = (...args: string[]) => execFileSync("ip", ["-n", this.#namespace, ...args])
    run("link", "set", "lo", "up")
    run("link", "add", "pods0", "type", "bridge")
    for (const { address, pods } of [ipv4, ipv6]) {
      // Without duplicate address detection, which would delay the use of the address.
      run(
        "address",
        "add",
        `${address}/${pods.split("/")[1]}`,
        "dev",
        "pods0",
        ...(address === ipv6.address ? ["nodad"] : []),
      )
    }
    run("link", "set", "pods0", "up")
    for (const { everywhere } of [ipv4, ipv6]) run("route", "add", everywhere, "dev", "pods0")
    const [command = "", ...before] = this.inside
    const forwarding = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]
    execFileSync(command, [...before, "sysctl", "-qw", ...forwarding])
  }

  #writeConfiguration(): void {
    const { folder } = this.#layout
    mkdirSync(join(folder, "cni"))
    const put = (name: string, value: string | object): void =>
      writeFileSync(join(folder, name), typeof value === "string" ? value : JSON.stringify(value))
    put("cni/10-node.conflist", networkConfiguration(this.#layout))
    put("containerd.toml", containerdConfiguration(this.#layout))
    put("kubelet.json", kubeletConfiguration(this.#layout))
    put("kube-proxy.json", proxyConfiguration(this.#layout))
    put("Corefile", dnsConfiguration(this.#layout))
  }

  /** Restarts the program when it exits, as the supervisor of a node does. */
  #keep(name: string, file: string, command: readonly string[]): void {
    const child = this.#spawn(name, command)
    writeFileSync(file, String(child.pid))
    child.once("exit", () => {
      const again = setInterval(() => {
        const isMeant = this.#processes.get(name) === child
        if (isMeant && existsSync(`${file}.down`)) return
        clearInterval(again)
        if (isMeant) this.#keep(name, file, command)
      }, LOOK_AGAIN_MS)
    })
  }

  #spawn(name: string, command: readonly string[]): ChildProcess {
    const log = openSync(join(this.#layout.folder, `${name}.log`), "a")
    const [first = "", ...rest] = [...this.inside, ...command]
    // `nsenter` is replaced by the program, so its process id is the program's. `ip netns exec` would hide the cgroups.
    const child = spawn(first, rest, { stdio: ["ignore", log, log] })
    this.#processes.set(name, child)
    return child
  }

  async #end(name: string): Promise<void> {
    const child = this.#processes.get(name)
    this.#processes.delete(name)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    const kill = setTimeout(() => child.kill("SIGKILL"), 20_000)
    await ended
    clearTimeout(kill)
  }

  /** Returns the network namespaces of the Pods. */
  #endContainers(): readonly string[] {
    const list = (...args: string[]): readonly string[] => {
      try {
        return this.#ctr(...args)
          .split("\n")
          .filter(Boolean)
      } catch {
        // containerd was not started.
        return []
      }
    }
    const containers = list("containers", "list", "-q")
    const networks = containers.flatMap(
      id => /\/run\/netns\/(cni-[\w-]+)/.exec(list("containers", "info", id).join())?.[1] ?? [],
    )
    for (const id of list("tasks", "list", "-q")) {
      list("tasks", "kill", "-s", "KILL", id)
      list("tasks", "delete", "-f", id)
    }
    for (const id of containers) list("containers", "delete", id)
    return [...new Set(networks)]
  }

  #ctr(...args: string[]): string {
    const place = ["-a", this.#layout.containerd.socket, "-n", "k8s.io"]
    return execFileSync("ctr", [...place, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      maxBuffer: 1 << 26,
    }).toString()
  }
}

function mountsBelow(folders: readonly string[]): readonly string[] {
  const mounted = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map(line => line.split(" ")[1] ?? "")
  return mounted.filter(path => folders.some(folder => path.startsWith(`${folder}/`))).reverse()
}

function quietly(command: string, ...args: string[]): void {
  try {
    execFileSync(command, args, { stdio: "ignore" })
  } catch {
    // It did not exist.
  }
}

async function until(what: string, act: () => unknown): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      act()
      return
    } catch (error) {
      if (performance.now() > end) throw new Error(`still waiting until ${what}`, { cause: error })
    }
    await new Promise(resolve => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}
