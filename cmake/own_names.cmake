# cmake -D NM=nm -D OBJCOPY=objcopy -D LIBRARY=libheddle-control.a -P own_names.cmake: what is between the files of a runtime
# (rt, rt_*, heap_*) gets names that are reserved for heddle. A variable or function of the program may have the short ones: it
# would silently be the runtime's.
execute_process(COMMAND ${NM} -g --defined-only --format=just-symbols ${LIBRARY} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n(rt|heap)(_[^\n]*)?" own "\n${names}")
list(REMOVE_DUPLICATES own)
set(list "")
foreach(name ${own})
  string(STRIP ${name} name)
  string(APPEND list "${name} __heddle_${name}\n")
endforeach()
file(WRITE ${LIBRARY}.names "${list}")
execute_process(COMMAND ${OBJCOPY} --redefine-syms=${LIBRARY}.names ${LIBRARY} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${LIBRARY}.names)
