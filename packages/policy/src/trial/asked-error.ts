// SPDX-License-Identifier: Apache-2.0

/** What was asked about is no request; the message says why, in the words of who asked. */
export class AskedError extends Error {}
