// SPDX-License-Identifier: Apache-2.0
// `merlond authorizer` in a cluster: its Deployment, identity and Service. Its Pods join the mesh with the same
// credentials as an injected proxy, and listen on the port that they declare.

import type { MeshNames } from "@merlon/policy/mesh"
import { canonicalJson } from "@merlon/xds/runtime"
import { HEALTH_PORT, injectionNames } from "../admission/injection-options.js"
import { bootstrapDocument, POD_VARIABLES, proxyVolumes, unprivileged } from "../admission/proxy-container.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { componentNames } from "./component-names.js"
import { partOf } from "./manifests.js"
import type { InstallValues } from "./values.js"

/** The port that gateways query. */
const PORT = 9_000
const PROGRAM = "/usr/local/bin/merlond"

/** `controlPlane`: the host of its Service, and the port for proxies. */
export function authorizerManifests(
  { authorizer, image, imagePullPolicy, imagePullSecrets }: InstallValues,
  names: MeshNames,
  controlPlane: { readonly host: string; readonly port: number },
): readonly KubernetesObject[] {
  const name = componentNames(names).authorizer
  const selector = { "app.kubernetes.io/name": name }
  const metadata = {
    name,
    namespace: authorizer.namespace === "" ? names.rootNamespace : authorizer.namespace,
    labels: { ...partOf(names), ...selector },
  }
  const { credentialsVolume, credentialsFolder, stateVolume, stateFolder, annotations } = injectionNames(names)
  const { host: serverName, port } = controlPlane
  const bootstrap = bootstrapDocument({ names, controlPlane: { address: `${serverName}:${port}`, serverName } })
  const answers = (path: string) => ({ httpGet: { path, port: HEALTH_PORT, scheme: "HTTP" } })
  const container = {
    // The only container: `merlond` treats a Pod with other containers as one that could be reached past the
    // authorizer.
    name: "authorizer",
    image,
    imagePullPolicy,
    command: [PROGRAM, "authorizer", `--bootstrap=${credentialsFolder}/bootstrap.json`],
    args: authorizer.args,
    env: POD_VARIABLES,
    ports: [{ name: "http-authorizer", containerPort: PORT, protocol: "TCP" }],
    startupProbe: { ...answers("/healthz/ready"), periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 120 },
    readinessProbe: { ...answers("/healthz/ready"), periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 3 },
    livenessProbe: { ...answers("/healthz/live"), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
    lifecycle: { preStop: { exec: { command: [PROGRAM, "drain", "--state", stateFolder] } } },
    resources: authorizer.resources,
    securityContext: unprivileged(),
    volumeMounts: [
      { name: credentialsVolume, mountPath: credentialsFolder, readOnly: true },
      { name: stateVolume, mountPath: stateFolder },
    ],
  }
  const template = {
    metadata: {
      labels: {
        ...metadata.labels,
        [names.injectLabel]: "false",
        [names.gatewayLabels.Gateway]: authorizer.gateway,
        [names.gatewayLabels.HTTPRoute]: authorizer.httpRoute,
        [names.gatewayLabels.GRPCRoute]: authorizer.grpcRoute,
      },
      annotations: { [annotations.proxy]: "authorizer", [annotations.bootstrap]: canonicalJson(bootstrap) },
    },
    spec: {
      serviceAccountName: name,
      imagePullSecrets,
      securityContext: { runAsNonRoot: true, fsGroup: 1337, seccompProfile: { type: "RuntimeDefault" } },
      containers: [container],
      volumes: proxyVolumes({ names }),
    },
  }
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { selector, ports: [{ name: "http-authorizer", port: PORT, targetPort: PORT, protocol: "TCP" }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: { replicas: authorizer.replicas, selector: { matchLabels: selector }, template },
    },
  ]
}
