// SPDX-License-Identifier: Apache-2.0
// The environment of a mesh's processes. It omits the user's settings for these programs, which would change one mesh
// and not the next, and the proxy of the workload in which the shell runs.

import { OWN_PROXY } from "./proxy-environment.js"

const OURS = /^(MERLON_|KUBECONFIG$|KUBERNETES_SERVICE_|HOST$|PORT$|VERSION$|npm_)/

export function childEnvironment(env: NodeJS.ProcessEnv, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(env).filter(([name, value]) => !OURS.test(name) && value !== env[OWN_PROXY])
  return { ...Object.fromEntries(inherited), ...more }
}
