// SPDX-License-Identifier: Apache-2.0
// The configuration of a node's programs. Every setting that differs from the default has a reason: the machine may
// have cgroup v1 and may not permit raising priorities, and no traffic may leave the node's own network namespace.

import { CNI_FOLDER } from "./programs.js"

/** The addresses of one IP family. */
export interface Network {
  /** The node's address. */
  readonly address: string
  readonly pods: string
  /** The first address of a Pod; lower addresses belong to the node. */
  readonly firstPod: string
  readonly services: string
  readonly everywhere: string
}

export interface Layout {
  readonly folder: string
  readonly ipv4: Network
  readonly ipv6: Network
  readonly apiPort: number
  readonly containerd: { readonly state: string; readonly socket: string }
  readonly pauseImage: string
}

export function networkConfiguration({ folder, ipv4, ipv6 }: Layout): object {
  return {
    cniVersion: "0.4.0",
    name: "node",
    plugins: [
      {
        type: "bridge",
        bridge: "pods0",
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: "host-local",
          // Not the machine's default folder, where a killed node would leave the addresses of its Pods allocated.
          dataDir: `${folder}/addresses`,
          ranges: [ipv4, ipv6].map(({ pods, firstPod }) => [{ subnet: pods, rangeStart: firstPod }]),
          routes: [ipv4, ipv6].map(({ services }) => ({ dst: services })),
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  }
}

export function containerdConfiguration({ folder, containerd, pauseImage }: Layout): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"'
  return `version = 2
root = "${folder}/containerd"
state = "${containerd.state}"
[grpc]
address = "${containerd.socket}"
[${cri}]
sandbox_image = "${pauseImage}"
restrict_oom_score_adj = true
[${cri}.containerd]
snapshotter = "overlayfs"
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[${cri}.cni]
bin_dir = "${CNI_FOLDER}"
conf_dir = "${folder}/cni"
`
}

export function kubeletConfiguration({ folder, ipv4: { address }, containerd }: Layout): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    containerRuntimeEndpoint: `unix://${containerd.socket}`,
    address,
    tlsCertFile: `${folder}/kubelet.crt`,
    tlsPrivateKeyFile: `${folder}/kubelet.key`,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${folder}/ca.crt` },
    },
    authorization: { mode: "Webhook" },
    cgroupDriver: "cgroupfs",
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    oomScoreAdj: 0,
    makeIPTablesUtilChains: false,
    resolvConf: "",
    clusterDomain: "cluster.local",
    clusterDNS: [address],
    readOnlyPort: 0,
    healthzPort: 0,
    evictionHard: { "memory.available": "50Mi" },
    imageGCHighThresholdPercent: 100,
    maxPods: 60,
  }
}

export function proxyConfiguration({ folder, ipv4, ipv6 }: Layout): object {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    clientConnection: { kubeconfig: `${folder}/kubeconfig` },
    hostnameOverride: "node1",
    clusterCIDR: `${ipv4.pods},${ipv6.pods}`,
    healthzBindAddress: "127.0.0.1:20256",
    metricsBindAddress: "127.0.0.1:20249",
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  }
}

export function dnsConfiguration({ folder, ipv4: { address } }: Layout): string {
  return `cluster.local:53 {\n bind ${address}\n kubernetes cluster.local {\n  kubeconfig ${folder}/kubeconfig kube\n }\n}\n`
}

export function apiServerArguments({ folder, ipv4, ipv6, apiPort }: Layout, etcd: string): readonly string[] {
  const file = (name: string): string => `${folder}/${name}`
  return [
    `--etcd-servers=${etcd}`,
    `--secure-port=${apiPort}`,
    "--bind-address=0.0.0.0",
    `--advertise-address=${ipv4.address}`,
    `--tls-cert-file=${file("server.crt")}`,
    `--tls-private-key-file=${file("server.key")}`,
    `--client-ca-file=${file("ca.crt")}`,
    "--kubelet-preferred-address-types=InternalIP",
    `--kubelet-client-certificate=${file("admin.crt")}`,
    `--kubelet-client-key=${file("admin.key")}`,
    `--kubelet-certificate-authority=${file("ca.crt")}`,
    `--service-account-key-file=${file("accounts.pub")}`,
    `--service-account-signing-key-file=${file("accounts.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-cluster-ip-range=${ipv4.services},${ipv6.services}`,
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--allow-privileged=true",
    // How aggregated API servers recognise it, and the user for whom it makes requests.
    `--requestheader-client-ca-file=${file("front-proxy-ca.crt")}`,
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--proxy-client-cert-file=${file("front-proxy.crt")}`,
    `--proxy-client-key-file=${file("front-proxy.key")}`,
  ]
}
