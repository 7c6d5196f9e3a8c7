// SPDX-License-Identifier: Apache-2.0
// What other packages may use to install a control plane: its manifests and their values.

export { componentNames } from "./component-names.js"
export { type InstalledObject, installedObjects, installManifests } from "./control-plane-manifests.js"
export { definitionManifests } from "./install.js"
export { bootstrapServiceAccount } from "./service-account.js"
export { assignments, defaultValues, type InstallValues, readValues, valueTable } from "./values.js"
