// Every workload, in the order of the report.
import { calls } from './calls.ts'
import { notification } from './notification.ts'
import type { Workload } from './workload.ts'

export const workloads: readonly Workload[] = [...calls, notification]
