// SPDX-License-Identifier: Apache-2.0
// What the processes of a mesh inherit: not the settings that a person's shell holds for these very programs, which would
// change one mesh and not the next, nor the proxy of a workload that the shell runs in.

import { OWN_PROXY } from "./proxy-environment.js"

const OURS = /^(MERLON_|KUBECONFIG$|KUBERNETES_SERVICE_|HOST$|PORT$|VERSION$|npm_)/

export function childEnvironment(env: NodeJS.ProcessEnv, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(env).filter(([name, value]) => !OURS.test(name) && value !== env[OWN_PROXY])
  return { ...Object.fromEntries(inherited), ...more }
}
