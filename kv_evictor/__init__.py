"""Keep the folder of vLLM's ``fs`` KV tier below a capacity: what was used least recently goes first.

Standard library only, Python 3.10 or later: the engine's own image runs it (manifests/tier_evictor.py).

What the tier does, as read in vLLM 0.33.0 (vllm/v1/kv_offload: file_mapper.py, tiering/manager.py, tiering/fs) and seen
under strace of its C helper, fs_io_C:

- A chunk of blocks is one file for each group of the KV cache, with the parts of all ranks:
  ``<root>/<model>_<12 hex>_r<rank>/<hhh>/<hh>_g<group>/<hash>.bin``, where hhh and hh begin the hash. Groups are read
  separately (of sliding layers only the last chunks), so files are evicted separately, too.
- A store asks access(2), makes folders that are missing, creates ``<hash>.bin_<number>.tmp`` (O_EXCL, O_DIRECT), writes
  once, closes, renames. If that fails, this chunk and those after it in the batch are not stored; nothing else fails.
- A look-up is access(2); there is no index. Its verdict holds while a request that asked lives. A load is submitted at
  the end of an engine step: open, one read, close, O_DIRECT where the file system has it.
- A load that finds no file keeps the chunks before it; the rest become misses and are computed again. No request fails:
  ``kv_load_failure_policy`` is about loads into GPU memory. A file that is too short is removed by the engine.
- The tier never removes a chunk for want of room. Hits in GPU memory or DRAM leave no trace here, and a chunk is
  written again only after it was computed again.

What follows from it:

- Last use is the later of atime and mtime. ``relatime`` records a read only while atime is not newer than ctime (or a
  day old), so each walk writes the times of files that were read since the last one anew, unchanged. That moves ctime,
  and the next read counts again: the order of use is exact to one walk. With ``noatime`` only the writing is known.
- In use is what somebody has open: a write lease (fcntl(2), F_SETLEASE) is refused then. It is held until the file is
  unlinked, so nobody opens it in between; who waits meanwhile gets the whole file.
- Between a look-up and its load nothing can be seen. ``min_age_s`` spares what was just written or read; whatever else
  goes in that moment is a miss, see above.
- A folder that stays empty for ``empty_folder_age_s`` is removed. A writer that found it there microseconds before then
  fails to create its file: one batch is not cached. Its parents (4096 at most) stay.
- Nothing is kept between runs. Whoever kills it at any point loses a walk.
"""
