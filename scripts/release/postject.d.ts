// SPDX-License-Identifier: Apache-2.0
// The one function of postject that we call; it comes without types.

declare module "postject" {
  export function inject(
    file: string,
    name: string,
    content: Buffer,
    options: { readonly sentinelFuse: string },
  ): Promise<void>
}
