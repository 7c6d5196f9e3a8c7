// SPDX-License-Identifier: Apache-2.0
// What other packages may use of the mesh: its settings, and the names in its resources.

export { type MeshConfig, meshConfig, PATH_NORMALIZATIONS, type PathNormalization } from "./config.js"
export { GATEWAY_GROUP, GATEWAY_TARGET_KINDS, type MeshNames, meshNames } from "./names.js"
export { type AuthorizationProvider, hostAndPort, readProviderSettings, readProviders } from "./providers.js"
