// SPDX-License-Identifier: Apache-2.0
// The containers and volumes that injection adds: the proxy without any privilege and, if traffic is redirected, an
// init container that may change the Pod's own network and then ends.

import { BUNDLE_KEY } from "../authority/authority-names.js"
import { componentNames } from "../install/component-names.js"
import { type ApplicationPort, captureMap, xserverContainer } from "../registry/application-ports.js"
import { captureArgs } from "../registry/capture-args.js"
import { XSERVER_UID } from "../registry/privileges.js"
import type { Undeclared } from "./capture-rules.js"
import { HEALTH_PORT, type InjectionOptions, injectionNames, OUTBOUND_PORT } from "./injection-options.js"
import type { OutboundChoice } from "./outbound-choice.js"
import { DEFAULT_RESOURCES } from "./proxy-resources.js"

type Value = { readonly [field: string]: unknown }

const TOKEN_SECONDS = 43_200
const BOOTSTRAP_FILE = "bootstrap.json"
const OUTBOUND_FILE = "outbound.json"
const PROGRAM = "/usr/local/bin/merlond"
export const POD_VARIABLES = [
  fromField("POD_NAME", "metadata.name"),
  fromField("POD_NAMESPACE", "metadata.namespace"),
  fromField("POD_IP", "status.podIP"),
  fromField("POD_IPS", "status.podIPs"),
  fromField("SERVICE_ACCOUNT", "spec.serviceAccountName"),
]

/** Name of the port with the proxy's health and metrics. */
export const PROXY_METRICS = "xs-health"

/** Handles both directions in one process if outbound calls are captured, else only inbound traffic. */
export function proxyContainer(
  options: InjectionOptions,
  ports: readonly ApplicationPort[],
  { way }: Pick<OutboundChoice, "way">,
): Value {
  const { names, image, imagePullPolicy, nativeSidecar, resources = DEFAULT_RESOURCES } = options
  const { credentialsVolume, credentialsFolder, stateVolume, stateFolder } = injectionNames(names)
  const answers = (path: string) => ({ httpGet: { path, port: HEALTH_PORT, scheme: "HTTP" } })
  const [ready, live] = [answers("/healthz/ready"), answers("/healthz/live")]
  return {
    name: xserverContainer(names),
    image,
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    args: [
      way === "capture" ? "proxy" : "xserver",
      "--bootstrap",
      `${credentialsFolder}/${BOOTSTRAP_FILE}`,
      ...(way === "capture" ? ["--outbound", String(OUTBOUND_PORT)] : []),
    ],
    ...(nativeSidecar ? { restartPolicy: "Always" } : {}),
    env: POD_VARIABLES,
    ports: [
      ...ports.map(({ listen }) => ({ name: `xs-${listen}`, containerPort: listen, protocol: "TCP" })),
      { name: PROXY_METRICS, containerPort: HEALTH_PORT, protocol: "TCP" },
    ],
    // The application receives calls only once its policies are enforced.
    startupProbe: { ...ready, periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 120 },
    readinessProbe: { ...ready, periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 3 },
    // Tolerant: a proxy that hangs is restarted, one on a busy node is not.
    livenessProbe: { ...live, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
    lifecycle: {
      // The startup probe of a native sidecar delays the following containers. A plain container needs a hook for that:
      // the kubelet starts the next container after the hook has returned.
      ...(way === "capture" && !nativeSidecar ? { postStart: { exec: { command: [PROGRAM, "wait"] } } } : {}),
      // The kubelet runs it when the Pod begins to terminate, also in a native sidecar, which ends after the
      // application.
      ...preStop("--state", stateFolder, ...(nativeSidecar ? [] : untilClosed(ports))),
    },
    resources,
    securityContext: unprivileged(),
    volumeMounts: [
      { name: credentialsVolume, mountPath: credentialsFolder, readOnly: true },
      { name: stateVolume, mountPath: stateFolder },
    ],
  }
}

function preStop(...args: readonly string[]): Value {
  return { preStop: { exec: { command: [PROGRAM, "drain", ...args] } } }
}

/** A plain sidecar is stopped together with the application, but has to serve it until it has ended. */
function untilClosed(ports: readonly ApplicationPort[]): readonly string[] {
  return ["--until-closed", ports.map(({ port }) => port).join(",")]
}

/** Handles the application's calls: those sent by `http_proxy` use the mesh's routes and the workload's identity. */
export function outboundContainer(options: InjectionOptions, ports: readonly ApplicationPort[]): Value {
  const { names, image, imagePullPolicy, nativeSidecar, resources = DEFAULT_RESOURCES } = options
  const { outboundContainer: name } = injectionNames(names)
  return {
    name,
    image,
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    args: ["xclient", "--listen", `127.0.0.1:${OUTBOUND_PORT}`, "--allow-external", "--allow-other-users"],
    ...(nativeSidecar ? { restartPolicy: "Always" } : {}),
    ...memberParts(options),
    ...(nativeSidecar ? {} : { lifecycle: preStop(...untilClosed(ports)) }),
    resources,
    securityContext: unprivileged(),
  }
}

/** What a container needs to be a mesh member itself: the workload's credentials, and their location. */
export function memberParts({ names }: InjectionOptions): {
  readonly env: readonly Value[]
  readonly volumeMounts: readonly Value[]
} {
  const { credentialsVolume, credentialsFolder } = injectionNames(names)
  return {
    env: [...POD_VARIABLES, { name: "MERLON_BOOTSTRAP", value: `${credentialsFolder}/${OUTBOUND_FILE}` }],
    volumeMounts: [{ name: credentialsVolume, mountPath: credentialsFolder, readOnly: true }],
  }
}

export function unprivileged(): Value {
  return { runAsUser: XSERVER_UID, runAsGroup: XSERVER_UID, runAsNonRoot: true, ...confined([]) }
}

export function captureContainer(
  options: InjectionOptions,
  ports: readonly ApplicationPort[],
  undeclared: Undeclared,
  { flags }: Pick<OutboundChoice, "flags">,
): Value {
  const { names, image, imagePullPolicy, udp, resources = DEFAULT_RESOURCES } = options
  return {
    name: injectionNames(names).initContainer,
    image,
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    args: captureArgs({
      "--map": captureMap(ports),
      "--undeclared": undeclared === "pass" ? "pass" : undefined,
      ...flags,
      "--udp": udp === "refuse" ? "refuse" : undefined,
    }),
    resources,
    // Changing the Pod's network requires root and this one capability.
    securityContext: { runAsUser: 0, runAsGroup: 0, runAsNonRoot: false, ...confined(["NET_ADMIN"]) },
  }
}

export function proxyVolumes({ names }: Pick<InjectionOptions, "names">): readonly Value[] {
  const { credentialsVolume, stateVolume, annotations } = injectionNames(names)
  const file = (path: string, annotation: string) => ({
    path,
    fieldRef: { fieldPath: `metadata.annotations['${annotation}']` },
  })
  const items = [file(BOOTSTRAP_FILE, annotations.bootstrap), file(OUTBOUND_FILE, annotations.outboundBootstrap)]
  return [
    {
      name: credentialsVolume,
      projected: {
        sources: [
          { downwardAPI: { items } },
          {
            serviceAccountToken: { audience: names.tokenAudience, expirationSeconds: TOKEN_SECONDS, path: "token" },
          },
          {
            configMap: { name: componentNames(names).trustBundle, items: [{ key: BUNDLE_KEY, path: BUNDLE_KEY }] },
          },
        ],
      },
    },
    // In memory: the proxy's key is never written to the node's disk, and survives a restart of the container.
    { name: stateVolume, emptyDir: { medium: "Memory", sizeLimit: "32Mi" } },
  ]
}

/** The first file that xserver reads. The Pod's name is not known yet, so it is filled in from the environment. */
export function bootstrapDocument(
  { names, controlPlane }: Pick<InjectionOptions, "names" | "controlPlane">,
  keepsState = true,
): Value {
  const { credentialsFolder, stateFolder } = injectionNames(names)
  return {
    mesh: { name: names.mesh, domain: names.domain },
    controlPlane: { address: controlPlane.address, serverName: controlPlane.serverName },
    workload: {
      namespace: placeholder("POD_NAMESPACE"),
      name: placeholder("POD_NAME"),
      serviceAccount: placeholder("SERVICE_ACCOUNT"),
    },
    trustBundle: `${credentialsFolder}/${BUNDLE_KEY}`,
    token: `${credentialsFolder}/token`,
    address: placeholder("POD_IP"),
    // IPv4 and IPv6, or only IPv4 on a node without IPv6.
    listen: "::",
    application: "127.0.0.1",
    // An application may listen only on the Pod's addresses.
    applicationFallback: `::1,${placeholder("POD_IPS")}`,
    ...(keepsState ? { state: stateFolder } : {}),
  }
}

function fromField(name: string, fieldPath: string): Value {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}

function confined(add: readonly string[]): Value {
  return {
    allowPrivilegeEscalation: false,
    privileged: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"], ...(add.length === 0 ? {} : { add: [...add] }) },
    seccompProfile: { type: "RuntimeDefault" },
  }
}

function placeholder(variable: string): string {
  return `\${${variable}}`
}
