export { type BearerAuthOptions, bearerAuth, type Verify } from './bearer.ts'
export { type IntrospectionOptions, introspection } from './introspection.ts'
export { type JwtOptions, jwt } from './jwt.ts'
