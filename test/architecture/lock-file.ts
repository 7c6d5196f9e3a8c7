// SPDX-License-Identifier: Apache-2.0
// What `npm ci` insists on: every optional package that a locked one names is locked too, for every platform.

export interface LockedPackage {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly optionalDependencies?: { readonly [name: string]: string }
}

export interface PackageLock {
  packages: { [path: string]: LockedPackage & object }
}

export interface Missing {
  readonly name: string
  readonly version: string
  readonly dev: boolean
}

export function missingOptionals({ packages }: PackageLock): readonly Missing[] {
  const locked = new Set(Object.keys(packages).map(path => path.slice(path.lastIndexOf("node_modules/"))))
  return Object.values(packages).flatMap(({ optionalDependencies = {}, dev = false }) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !locked.has(`node_modules/${name}`))
      .map(([name, version]) => ({ name, version, dev })),
  )
}
