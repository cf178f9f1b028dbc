export * from '@fairlead/core'
export { type NodePlatform, toNodeHandler } from './handler.ts'
export { type ServeOptions, serve } from './serve.ts'
