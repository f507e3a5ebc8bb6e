// Package unready explains why an object is not ready. [Gather] reads the facts, and [Diagnose]
// returns causes with evidence, the next command, its risk and the object that has to change. An
// [Explainer] repeats both while objects are stuck. It does not decide readiness, does not wait, and
// never reads the contents of Secrets.
//
// # Codes
//
// Codes are stable; new ones may be added.
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
// Definitions of kinds, including aggregated ones: NamesConflict, SchemaNotStructural, GroupProtected,
// NotEstablished, APIServiceUnavailable.
//
// Any kind: NamespaceTerminating, Terminating, ReferenceMissing, NotObserved, NoController,
// ControllerDown, Stalled, ConditionFalse, ConditionUnknown, StatusSays, Reconciling,
// WarningEvent.
//
// Objects that could not be read: NotAllowed, Unreadable.
package unready
