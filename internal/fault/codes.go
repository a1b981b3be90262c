package fault

// Code is a machine-readable name of a failure. Clients branch on it and a contract gives it a meaning, so the value of
// a constant never changes. docs/errors.md lists all of them with their HTTP statuses.
type Code string

// Requests and routes: codes of every surface.
const (
	CodeInvalidRequest       Code = "invalid_request"        // the request breaks a rule of its contract
	CodeInvalidBody          Code = "invalid_body"           // the body ended early, came too slowly or cannot be read
	CodeInvalidJSON          Code = "invalid_json"           // the body is not the JSON document that the route expects
	CodeBodyTooLarge         Code = "body_too_large"         // the body is larger than the route accepts
	CodeFileTooLarge         Code = "file_too_large"         // an uploaded file is larger than the service accepts
	CodeUnsupportedMediaType Code = "unsupported_media_type" // the route does not accept this Content-Type
	CodeMethodNotAllowed     Code = "method_not_allowed"     // the path has routes for other methods only
	CodeNotFound             Code = "not_found"              // nothing has this name, or it belongs to another account
	CodeConflict             Code = "conflict"               // the current state does not allow the change
	CodeRateLimited          Code = "rate_limited"           // a limit is reached; the same request may succeed later
	CodeUnavailable          Code = "unavailable"            // a part of the service is down; the same request may succeed later
	CodeUpstreamUnreachable  Code = "upstream_unreachable"   // a part of the service is away; the same request may succeed later
	CodeUpstreamError        Code = "upstream_error"         // the service failed; the operator's log has the cause
	CodeInternalError        Code = "internal_error"         // the service failed; the operator's log has the cause
	CodeNotImplemented       Code = "not_implemented"        // this service does not implement this route of the contract
	CodeUnauthorized         Code = "unauthorized"           // the credential is missing, unknown or no longer valid
	CodeForbidden            Code = "forbidden"              // the credential does not have the required right
	CodeInvalidCursor        Code = "invalid_cursor"         // the cursor does not belong to this listing
	CodeRangeNotSatisfiable  Code = "range_not_satisfiable"  // the file has no bytes in the requested range
	CodeTooManyStreams       Code = "too_many_streams"       // the account has too many open event streams
	CodeTooManySockets       Code = "too_many_sockets"       // the account has too many open WebSockets
	CodeCanceled             Code = "canceled"               // the caller or the user has canceled
)

// Jobs.
const (
	CodeInvalidWorkflow       Code = "invalid_workflow"        // the graph breaks a rule; the details name its nodes
	CodeWorkflowFormatUI      Code = "workflow_format_ui"      // the graph is in the format of the editor, not in that of the API
	CodeMissingAsset          Code = "missing_asset"           // the graph loads a file that the account does not have
	CodeUnknownLabel          Code = "unknown_label"           // no ComfyUI server has the labels that the job requires
	CodeLabelNotAllowed       Code = "label_not_allowed"       // the account may not use servers with these labels
	CodeMetadataInvalid       Code = "metadata_invalid"        // the metadata of a job breaks a rule
	CodeMetadataNotSupported  Code = "metadata_not_supported"  // the route does not accept metadata
	CodeInvalidMetadataFilter Code = "invalid_metadata_filter" // a filter of metadata breaks a rule
	CodeIdempotencyKeyReuse   Code = "idempotency_key_reuse"   // the idempotency key was used for another request
	CodeSubscriptionInactive  Code = "subscription_inactive"   // the account has no active subscription
	CodeInsufficientCredits   Code = "insufficient_credits"    // the account has too little credit
	CodeQueueFull             Code = "queue_full"              // the account has too many waiting jobs
	CodeDeploymentNotReady    Code = "deployment_not_ready"    // an operator drains the queue, or the deployment lacks a class or a file
	CodeDeploymentStopped     Code = "deployment_stopped"      // an operator stopped the queue, or the deployment is stopped
	CodeJobNotFound           Code = "job_not_found"           // the account has no such job
	CodeJobNotFinished        Code = "job_not_finished"        // only a job that has ended can be run again
	CodeJobFinished           Code = "job_finished"            // the job has ended
	CodeNotRunning            Code = "not_running"             // the job has no slot
	CodeCredentialRequired    Code = "credential_required"     // the graph has nodes of partner models, which need a key in extra_data
	CodeInvalidCredential     Code = "invalid_credential"      // the key in extra_data is not a valid key of the account
	CodeUnknownNode           Code = "unknown_node"            // the graph has no node with this id
	CodeInvalidAssignment     Code = "invalid_assignment"      // an input to be set does not exist, or does not accept the value
	CodeOutputUnavailable     Code = "output_unavailable"      // the bytes of a file are no longer stored
	CodeNodeExecutionError    Code = "node_execution_error"    // a node of the job failed
)

// Deployments.
const (
	CodeDeploymentNotFound Code = "deployment_not_found" // the account has no deployment with this name or id
	CodeInvalidDeployment  Code = "invalid_deployment"   // the name, graph or share of a deployment breaks a rule
)

// Assets, files and exports.
const (
	CodeAssetNotFound         Code = "asset_not_found"         // the account has no such asset
	CodeAssetInUse            Code = "asset_in_use"            // an unfinished job needs the asset
	CodeAssetIDTaken          Code = "asset_id_taken"          // the chosen id is or was in use
	CodeNameTaken             Code = "name_taken"              // another file has the name
	CodeBlobNotFound          Code = "blob_not_found"          // no content with the hash is stored
	CodeHashMismatch          Code = "hash_mismatch"           // the bytes do not have the announced hash
	CodeStorageQuotaExceeded  Code = "storage_quota_exceeded"  // the files of the account exceed its storage limit
	CodeInvalidMetadata       Code = "invalid_metadata"        // the metadata of an asset breaks a rule
	CodeInvalidPreview        Code = "invalid_preview"         // the preview is not a file of the account
	CodeProtectedTag          Code = "protected_tag"           // only the service sets this tag
	CodeTooManyTags           Code = "too_many_tags"           // an asset would have too many tags
	CodeTooManyChanges        Code = "too_many_changes"        // an asset was changed too often
	CodeQueryTooBroad         Code = "query_too_broad"         // too many files would have to be read
	CodeInvalidImage          Code = "invalid_image"           // the file is not an image that can be read or combined
	CodeInvalidNamingStrategy Code = "invalid_naming_strategy" // the naming strategy of an export is unknown
	CodeNothingToExport       Code = "nothing_to_export"       // none of the files can be packed
	CodeExportTooLarge        Code = "export_too_large"        // the files of an export are too many or too large
	CodeTooManyExports        Code = "too_many_exports"        // the account has too many unfinished exports
	CodeTooManyDownloads      Code = "too_many_downloads"      // the account has too many unfinished downloads
	CodeTooManyUploads        Code = "too_many_uploads"        // the account has too many unfinished resumable uploads
	CodeUploadOffset          Code = "upload_offset"           // the bytes do not begin where those of the upload end
	CodeInvalidPath           Code = "invalid_path"            // the path of an editor's file breaks a rule
	CodeInvalidSettings       Code = "invalid_settings"        // the settings of an editor are not JSON
	CodePathInUse             Code = "path_in_use"             // a file and a directory cannot have the same path
	CodeTooManyFiles          Code = "too_many_files"          // the number of files is at its limit
	CodeChanged               Code = "changed"                 // another request changed the file meanwhile
)

// Downloads from URLs that a client names. The library's contract defines these codes.
const (
	CodeSourceNoURL        Code = "INVALID_URL"         // the address is missing
	CodeSourceURLFormat    Code = "INVALID_URL_FORMAT"  // the address is not a URL
	CodeSourceUnsupported  Code = "UNSUPPORTED_SOURCE"  // the service does not download from this address
	CodeSourceUnauthorized Code = "UNAUTHORIZED_SOURCE" // the source requires a credential
	CodeSourceForbidden    Code = "ACCESS_FORBIDDEN"    // the source denies access
	CodeSourceNotFound     Code = "RESOURCE_NOT_FOUND"  // the source has no such file
	CodeSourceRateLimited  Code = "RATE_LIMITED"        // the source has reached a rate limit
	CodeSourceServerError  Code = "SOURCE_SERVER_ERROR" // the source failed
	CodeSourceTimeout      Code = "NETWORK_TIMEOUT"     // the source did not answer in time
	CodeSourceUnreachable  Code = "NETWORK_ERROR"       // the source cannot be reached
	CodeSourceHTTPError    Code = "HTTP_ERROR"          // the source answered with another error
	CodeSourceTooLarge     Code = "FILE_TOO_LARGE"      // the file of the source is larger than the service accepts
)

// Webhooks.
const (
	CodeWebhookNotFound   Code = "webhook_not_found"   // the account has no such endpoint
	CodeWebhookExists     Code = "webhook_exists"      // the account has an endpoint with this address
	CodeWebhookLimit      Code = "webhook_limit"       // the account has too many endpoints
	CodeWebhookDisabled   Code = "webhook_disabled"    // the endpoint is disabled
	CodeWebhookURLInvalid Code = "webhook_url_invalid" // the address of an endpoint breaks a rule
	CodeDeliveryNotFound  Code = "delivery_not_found"  // no ended delivery has this id
	CodeAddressNotAllowed Code = "address_not_allowed" // the service does not connect to this address
	CodeNameNotAllowed    Code = "name_not_allowed"    // the service does not connect to the addresses of this name
)

// Operators: the admin API and the command line.
const (
	CodeAmbiguous         Code = "ambiguous"          // several ids have this prefix
	CodeAmbiguousID       Code = "ambiguous_id"       // several ids have this prefix
	CodeNoMatch           Code = "no_match"           // nothing matches the filter
	CodeAccountExists     Code = "account_exists"     // an account with this name exists
	CodeAccountNotFound   Code = "account_not_found"  // no account has this name or id
	CodeCallNotFound      Code = "call_not_found"     // no model call has this id
	CodeCallSettled       Code = "call_settled"       // the outcome of the call is known
	CodeEventNotFound     Code = "event_not_found"    // the log has no event at this position
	CodeVersionNotFound   Code = "version_not_found"  // the stream has no such version
	CodeViewNotFound      Code = "view_not_found"     // no view has this name
	CodeNotHalted         Code = "not_halted"         // the stream is not halted in this projection
	CodeRebuildRunning    Code = "rebuild_running"    // another process rebuilds or checks the view
	CodeJobErased         Code = "job_erased"         // the job was erased after its retention
	CodeJobRetired        Code = "job_retired"        // the history of the job is past its retention
	CodeEngineUnavailable Code = "engine_unavailable" // the workflow engine cannot be reached
	CodeHoldReleased      Code = "hold_released"      // the reserved credit was released before
	CodeExpired           Code = "expired"            // the answer of the request is no longer stored
	CodeContents          Code = "contents"           // the model does not accept the values of the body
	CodeInvalidInput      Code = "invalid_input"      // the model catalog does not accept a value
)

// ComfyUI servers.
const (
	CodeInvalidServer      Code = "invalid_server"     // the description of a server breaks a rule
	CodeInvalidPool        Code = "invalid_pool"       // the description of a pool of machines breaks a rule
	CodePoolNotFound       Code = "pool_not_found"     // no pool of machines has this name
	CodeServerExists       Code = "server_exists"      // the server is registered already
	CodeServerNotFound     Code = "server_not_found"   // no server has this id
	CodeServerUnseen       Code = "server_unseen"      // the server has never answered, so nothing is known of it
	CodeNoServerLog        Code = "no_server_log"      // Millrace did not start the process of the server, or its log is on another machine
	CodeTooManyServers     Code = "too_many_servers"   // the registration tokens have registered too many servers
	CodeTokenExists        Code = "token_exists"       // a registration token with this name exists
	CodeTokenNotFound      Code = "token_not_found"    // no registration token has this id
	CodeServerUnreachable  Code = "server_unreachable" // no connection to the server was made, so nothing was sent
	CodeServerLost         Code = "server_lost"        // the connection broke, or no answer came in time; the server may have acted on it
	CodeServerSilent       Code = "server_silent"      // the server sent no heartbeat within its limit
	CodeServerError        Code = "server_error"       // the server answered 5xx; it may have processed the request
	CodeServerGarbage      Code = "server_garbage"     // the answer is not in the format of ComfyUI
	CodeServerCertificate  Code = "server_certificate" // the certificate of the server is not valid for its address
	CodeServerRedirect     Code = "server_redirect"    // the server redirects, and redirects are not followed
	CodeServerDenied       Code = "server_denied"      // the server, or a proxy in front of it, requires other credentials
	CodeNotComfyUI         Code = "not_comfyui"        // the program that answers is not ComfyUI
	CodeServerTooOld       Code = "server_too_old"     // the version of the server is not supported; the details have "version" and "oldest"
	CodeServerRefused      Code = "server_refused"     // the server refuses the request
	CodeUnsafeName         Code = "unsafe_name"        // a name leads out of its folder
	CodeTooLarge           Code = "too_large"          // an answer, an output or an upload of a server exceeds its bound
	CodePicturesMissed     Code = "pictures_missed"    // a node has sent pictures to a socket that was not open
	CodeServerFileNotFound Code = "file_not_found"     // the server has no such file
	CodeServerGivenUp      Code = "server_given_up"    // the server is lost or silent, or forgets the prompt; the outcome is unknown
	CodeServerInterrupted  Code = "server_interrupted" // somebody else canceled the prompt on its server
	CodeOutputTooLarge     Code = "output_too_large"   // a file of a server is larger than the operator allows
	CodeSegmentLeaseLost   Code = "segment_lease_lost" // another driver has taken over the segment
)

// Values, pictures, sounds and videos. Routes that read pictures answer with these codes; a failed node has node_execution_error instead.
const (
	CodeInputType        Code = "input_type"         // an input is missing or has the wrong type
	CodeInputRange       Code = "input_range"        // an input is out of range
	CodeNumber           Code = "number"             // a number cannot be computed or has too many digits
	CodeExpression       Code = "expression"         // an expression cannot be evaluated
	CodeRegex            Code = "regex"              // a regular expression or its replacement is not valid
	CodeRegexTime        Code = "regex_time"         // a regular expression takes too long
	CodeTemplate         Code = "template"           // a template cannot be filled
	CodeMetadataJSON     Code = "metadata_json"      // metadata cannot be written as JSON
	CodeTextTooLong      Code = "text_too_long"      // a text would be too long
	CodeListTooLong      Code = "list_too_long"      // a list has too many elements
	CodeListTooLarge     Code = "list_too_large"     // the values of a list take too much memory
	CodeValueTooLarge    Code = "value_too_large"    // a value is too large to be stored
	CodeValueDamaged     Code = "value_damaged"      // a stored value cannot be read
	CodeValueMissing     Code = "value_missing"      // a stored value is missing; its node runs again
	CodeValueCannotCross Code = "value_cannot_cross" // a value of this type cannot be sent to a server
	CodeUIOutputTooLarge Code = "shown_too_much"     // the UI output of a node is too large
	CodeExpansionInvalid Code = "expansion_invalid"  // a node expands to a graph that cannot run
	CodeRunsOnServers    Code = "runs_on_servers"    // the class runs only on ComfyUI servers
	CodeNodePanic        Code = "node_panic"         // the code of a node panicked
	CodeNodeTimeout      Code = "node_timeout"       // the node exceeded its time limit
	CodeWorkerLost       Code = "worker_lost"        // workers were lost while they ran the node
	CodeFileLimit        Code = "file_limit"         // a file is larger than nodes read
	CodePixelLimit       Code = "pixel_limit"        // an image has too many pixels
	CodePictureLimit     Code = "picture_limit"      // a request to a partner model has too many pictures
	CodeAnswerLimit      Code = "answer_limit"       // the answer of a partner model is too large
	CodePartnerAnswer    Code = "partner_answer"     // the answer of a partner model lacks an output that the catalog declares
	CodePartnerFetch     Code = "partner_fetch"      // a file that the answer of a partner model names cannot be downloaded
	CodeImageFormat      Code = "image_format"       // the file is not an image in a known format
	CodeImageDamaged     Code = "image_damaged"      // the image is damaged or of an unsupported kind
	CodeEmptyImage       Code = "empty_image"        // an image without pixels
	CodeEmptyBatch       Code = "empty_batch"        // a batch without images
	CodeEmptyCrop        Code = "empty_crop"         // a rectangle without pixels
	CodeOutside          Code = "outside"            // the source lies outside the destination
	CodeSizeMismatch     Code = "size_mismatch"      // images of one batch have different sizes
	CodeBatchMismatch    Code = "batch_mismatch"     // batches of these lengths cannot be combined
	CodeChannelMismatch  Code = "channel_mismatch"   // images with these channels cannot be combined
	CodeNoChannel        Code = "no_channel"         // the image has no such channel
	CodeNothingLeft      Code = "nothing_left"       // the image would have no pixels left
	CodeBlurRadius       Code = "blur_radius"        // the radius of a blur is out of range
	CodeKernelSize       Code = "kernel_size"        // the size of a kernel is out of range
	CodePaletteSize      Code = "palette_size"       // the number of colors of a palette is out of range
	CodeUnknownDither    Code = "unknown_dither"     // the dithering is unknown
	CodeUnknownFlip      Code = "unknown_flip"       // the flip is unknown
	CodeUnknownRotation  Code = "unknown_rotation"   // the rotation is unknown
	CodeUnknownMethod    Code = "unknown_method"     // the method of scaling is unknown
	CodeUnknownMode      Code = "unknown_mode"       // the mode of combining is unknown
	CodeUnknownOperation Code = "unknown_operation"  // the operation is unknown
	CodePNGText          Code = "png_text"           // metadata cannot be stored in a PNG
	CodeWebPText         Code = "webp_text"          // metadata cannot be stored in a WebP
	CodeWebPSize         Code = "webp_size"          // the image is too large for a WebP
	CodeAnimation        Code = "animation"          // an animation with these settings cannot be written
	CodeRasterFormat     Code = "raster_format"      // stored pixels are of an unknown format
	CodeRasterTruncated  Code = "raster_truncated"   // stored pixels end early
	CodeTensorsDamaged   Code = "tensors_damaged"    // a file of tensors is damaged
	CodeTensorsTooLarge  Code = "tensors_too_large"  // a file of tensors is larger than its reader accepts
	CodeEncoding         Code = "encoding"           // a video cannot be written with these settings
	CodeFormat           Code = "format"             // the format of a file is unknown
	CodeFrameRate        Code = "frame_rate"         // a video of this many frames a second cannot be written
	CodeFrequency        Code = "frequency"          // a sound has no such band
	CodeMergeMethod      Code = "merge_method"       // the method of merging sounds is unknown
	CodeQuality          Code = "quality"            // the quality is unknown
	CodeMediaUnusable    Code = "media_unusable"     // ffmpeg cannot process the file
	CodeMediaTooLarge    Code = "media_too_large"    // the decoded file is too large for a value
	CodeNoLength         Code = "no_length"          // the file does not contain its length
	CodeNoSound          Code = "no_sound"           // the file has no sound
	CodeNoVideo          Code = "no_video"           // the file has no video
	CodeSoundChannels    Code = "sound_channels"     // sounds with these channels cannot be combined
	CodeSoundEmpty       Code = "sound_empty"        // a sound without samples
	CodeSoundFormat      Code = "sound_format"       // a sound of this rate or with these channels is not supported
	CodeSoundTooLong     Code = "sound_too_long"     // a sound is too long for a value
	CodeVideoEmpty       Code = "video_empty"        // a video without pictures
	CodeVideoPart        Code = "video_part"         // the video has no such part
)

// Internal codes, by which parts of the service distinguish failures. Routes do not answer with them.
const (
	CodeBlobCorrupt      Code = "blob_corrupt"       // stored bytes do not have their hash
	CodeDiskFull         Code = "disk_full"          // the disk of the blob store is full
	CodeStorageFull      Code = "storage_full"       // the disk of the database is full
	CodeDatabaseNewer    Code = "database_newer"     // a newer release migrated the database
	CodeMigrationChanged Code = "migration_changed"  // the text of a migration differs from the applied one
	CodeEventTooLarge    Code = "event_too_large"    // an event has too many bytes
	CodeUnknownEventType Code = "unknown_event_type" // this release does not know the type of an event
	CodeStreamConflict   Code = "stream_conflict"    // a stream is not at the version that an append expects
	CodeCheckpointAhead  Code = "checkpoint_ahead"   // a checkpoint is beyond the end of the log
	CodeCheckpointMoved  Code = "checkpoint_moved"   // another process moved the checkpoint
	CodeDuplicateJob     Code = "duplicate_job"      // a job with this id exists
	CodeJobNotOver       Code = "job_not_over"       // the job has not ended
	CodeRunOver          Code = "run_over"           // another run of the job has begun, or the job has ended
	CodeClassesChanged   Code = "classes_changed"    // the classes of the servers changed after the job was planned
	CodeLeaseTakenOver   Code = "lease_taken_over"   // another driver has taken over the segment
	CodeWorkerStops      Code = "worker_stops"       // the worker stops; another one continues
	CodeFetchFailed      Code = "fetch_failed"       // an address cannot be fetched
	CodeFetchStatus      Code = "fetch_status"       // a fetched address answered with an error
	CodeFetchTooLarge    Code = "fetch_too_large"    // the answer of a fetched address is too large
	CodeFetchTruncated   Code = "fetch_truncated"    // the answer of a fetched address ended early
	CodeTooManyRedirects Code = "too_many_redirects" // a fetched address redirects too often
)
