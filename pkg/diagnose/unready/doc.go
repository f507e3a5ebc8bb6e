// Package unready explains why an object does not get ready.
//
// [Gather] reads what the object's situation calls for: the Pods below it, what those refer to,
// their warnings. [Diagnose] is pure: rules over those facts, each cause with its evidence, the
// next command, its risk, and the object that has to change. Root causes come first, and what many
// Pods have in common is one cause. Unreadable facts are unknown, and reported as such.
//
// An [Explainer] does both for objects that hang, repeatedly while they do: what was read
// for one also serves the others, and, for a while, the next time. [LastingOf] says
// whether a cause may pass by itself.
//
// The package does not decide whether an object is ready, it does not wait, and it
// reads no logs. The value of a Secret is never read.
//
// # Codes
//
// They are stable; new ones may come.
//
// Pods that are not created: QuotaExceeded, QuotaNeedsResources,
// ServiceAccountMissing, PodSecurityViolation, WebhookDenied, WebhookUnavailable,
// PolicyDenied, LimitRangeViolation, PriorityClassMissing, CreateRefused.
//
// Pods without a node: Unschedulable, NoNodes, SchedulingGated, NotScheduled.
//
// Volumes: ClaimMissing, ClaimTerminating, ClaimLost, ClaimUnbound, NoStorageClass,
// StorageClassMissing, ProvisioningFailed, NoProvisioner, NoVolume,
// WaitForFirstConsumer, VolumeDeadlock, VolumeInUse, VolumeShared,
// VolumeAttachedElsewhere, VolumeNotMounted.
//
// Pods on a node: NodeMissing, NodeNotReady, PodTerminating, PodEvicted,
// PodRejected, SandboxFailed, ReadinessGate, Starting, ConfigMapMissing,
// SecretMissing.
//
// Containers: ImageNotFound, ImageAccessDenied, ImagePlatformMissing, ImagePullFailed, ImageNameInvalid,
// ImageNeverPulled, ImageDiffers, ContainerCrash, ContainerExits, OOMKilled,
// CommandNotFound, ProbeKills, ContainerConfigError, ContainerNotStarted,
// InitContainerRunning, ReadinessProbeFailing, StartupProbeFailing.
//
// Workloads: Paused, ProgressDeadlineExceeded, MinReadySeconds,
// StatefulSetPodStuck, UpdateOnDelete, Suspended, JobFailed, JobBackoffLimit,
// JobDeadline, CronJobNotStarted, AutoscalerInactive, NoMetrics.
//
// Network: NoEndpoints, NoReadyEndpoints, SelectorMatchesNothing,
// TargetPortMissing, LoadBalancerPending, LoadBalancerFailed, IngressNoAddress,
// IngressClassMissing, NoIngressClass, ServiceMissing.
//
// Definitions, aggregated ones too: NamesConflict, SchemaNotStructural, GroupProtected,
// NotEstablished, APIServiceUnavailable.
//
// Any kind: NamespaceTerminating, Terminating, ReferenceMissing, NotObserved, NoController,
// ControllerDown, Stalled, ConditionFalse, ConditionUnknown, StatusSays, Reconciling,
// WarningEvent.
//
// Objects that could not be read: NotAllowed, Unreadable.
package unready
