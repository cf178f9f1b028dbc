export { type FromSdkOptions, fromSdk } from './from-sdk.ts'
export type { AuthInfo, SdkContext, SdkServer } from './sdk.ts'
