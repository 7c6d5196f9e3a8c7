// SPDX-License-Identifier: Apache-2.0
// An object that inherits nothing, for untrusted keys: `toString` is a key like any other.

/** V8 makes a hash table of every `Object.create(null)`, which is slower to fill and to read, and larger. */
export const BareObject = function BareObject() {} as unknown as new () => Record<string, unknown>
BareObject.prototype = Object.freeze(Object.create(null))
